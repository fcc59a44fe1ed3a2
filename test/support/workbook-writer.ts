// Small handwritten workbooks, for cases that no program would save.
import { writeZip, type ZipPart } from './zip-writer.ts';

export interface HandMadeSheet {
  name: string;
  /** The XML of the sheet, or only the part between <sheetData> and </sheetData>. */
  xml?: string;
  data?: string;
  state?: 'hidden' | 'veryHidden';
}

export interface HandMadeWorkbook {
  sheets: HandMadeSheet[];
  sharedStrings?: string;
  styles?: string;
  date1904?: boolean;
  extra?: ZipPart[];
}

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

export function sheetXml(data: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?><worksheet xmlns="${MAIN}"><sheetData>${data}</sheetData></worksheet>`;
}

export function workbookParts(workbook: HandMadeWorkbook): ZipPart[] {
  const { sheets, sharedStrings, styles, date1904, extra = [] } = workbook;
  const relations = sheets.map(
    (_, i) =>
      `<Relationship Id="rId${i + 1}" Type="${RELATIONS}/worksheet" Target="worksheets/sheet${i + 1}.xml"/>`,
  );
  const parts: ZipPart[] = [
    {
      name: '[Content_Types].xml',
      data: '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>',
    },
    {
      name: '_rels/.rels',
      data: `<Relationships><Relationship Id="r" Type="${RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    },
    {
      name: 'xl/workbook.xml',
      data: `<workbook xmlns="${MAIN}" xmlns:r="${RELATIONS}"><workbookPr${date1904 ? ' date1904="1"' : ''}/><sheets>${sheets
        .map(
          ({ name, state }, i) =>
            `<sheet name="${name}" sheetId="${i + 1}"${state ? ` state="${state}"` : ''} r:id="rId${i + 1}"/>`,
        )
        .join('')}</sheets></workbook>`,
    },
    ...sheets.map(({ xml, data = '' }, i) => ({
      name: `xl/worksheets/sheet${i + 1}.xml`,
      data: xml ?? sheetXml(data),
    })),
  ];
  if (sharedStrings !== undefined) {
    relations.push(
      `<Relationship Id="strings" Type="${RELATIONS}/sharedStrings" Target="sharedStrings.xml"/>`,
    );
    parts.push({ name: 'xl/sharedStrings.xml', data: sharedStrings });
  }
  if (styles !== undefined) {
    relations.push(`<Relationship Id="styles" Type="${RELATIONS}/styles" Target="/xl/styles.xml"/>`);
    parts.push({ name: 'xl/styles.xml', data: styles });
  }
  parts.push({
    name: 'xl/_rels/workbook.xml.rels',
    data: `<Relationships>${relations.join('')}</Relationships>`,
  });
  return [...parts, ...extra];
}

export function writeWorkbook(workbook: HandMadeWorkbook): Buffer {
  return writeZip(workbookParts(workbook));
}
