// The image of a row: a thumbnail in the grid, larger in the row panel, and an icon for formats that browsers cannot
// show.
import { ImageOff } from 'lucide-react';
import { useEffect, useState } from 'react';
import { basePath } from '../../lib/server-page.ts';

interface RowImageProps {
  jobId: string;
  seq: number;
  /** Name of the image file. */
  name: string;
}

/** Rows that pass by while scrolling do not load their images. */
const SETTLE_MS = 150;

const addressOf = ({ jobId, seq }: RowImageProps): string =>
  `${basePath}/api/v1/jobs/${jobId}/items/${seq}/image`;

/** A square in a row of the grid. */
export function Thumbnail(props: RowImageProps) {
  const address = addressOf(props);
  const [settled, setSettled] = useState('');
  const [failed, setFailed] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setSettled(address), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [address]);
  const box = 'inline-flex size-7 items-center justify-center rounded-sm bg-sunken align-middle text-muted';
  if (failed === address)
    return (
      <span role="img" aria-label={`${props.name} (no preview)`} className={box}>
        <ImageOff size={15} aria-hidden />
      </span>
    );
  if (settled !== address) return <span aria-hidden className={box} />;
  return (
    <img
      src={address}
      alt={props.name}
      width={28}
      height={28}
      loading="lazy"
      decoding="async"
      className={`${box} object-contain`}
      onError={() => setFailed(address)}
    />
  );
}

export function LargeImage(props: RowImageProps) {
  const address = addressOf(props);
  const [failed, setFailed] = useState('');
  if (failed === address) return <p className="text-muted">Can't preview this image format.</p>;
  return (
    <a href={address} target="_blank" rel="noopener noreferrer" title="Open image" className="self-start">
      <img
        src={address}
        alt={props.name}
        decoding="async"
        className="h-48 max-w-full rounded-md border border-line bg-sunken object-contain"
        onError={() => setFailed(address)}
      />
    </a>
  );
}
