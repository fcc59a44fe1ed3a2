// The image of a row: small in the grid, larger beside the list. Some kinds no browser shows; a sign stands for those.
import { ImageOff } from 'lucide-react';
import { useEffect, useState } from 'react';
import { basePath } from '../../lib/server-page.ts';

interface RowImageProps {
  jobId: string;
  seq: number;
  /** Of the file. */
  name: string;
}

/** Images of rows that fly by while the bar is dragged are not asked for. */
const SETTLE_MS = 150;

const addressOf = ({ jobId, seq }: RowImageProps): string =>
  `${basePath}/api/v1/jobs/${jobId}/items/${seq}/image`;

/** In a row of the grid: as wide as it is high. */
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
