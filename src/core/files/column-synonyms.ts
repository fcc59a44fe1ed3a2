// Synonyms of column names in English, German, French and Spanish. The list is small on purpose: only words that rarely
// mean anything else. `--map` overrides it, and docs/files.md shows the table.
import { foldName } from './fold-name.ts';

/** Each line is one meaning. Names are folded: no case, blanks, punctuation or accents. */
const MEANINGS = [
  'name nom nombre',
  'firstname givenname vorname prenom',
  'lastname surname familyname nachname familienname nomdefamille apellido apellidos',
  'company companyname firma unternehmen entreprise societe empresa',
  'email emailaddress mail mailadresse emailadresse courriel correo correoelectronico',
  'phone phonenumber telephone tel telefon telefonnummer telefono',
  'address adresse anschrift direccion',
  'street strasse rue calle',
  'zip zipcode postcode postalcode plz postleitzahl codepostal codigopostal',
  'city town stadt ort ville ciudad',
  'country countrycode countryname land landercode laendercode pays codepays pais codigopais',
  'language sprache langue idioma',
  'date datum fecha',
  'title titel titre titulo',
  'description beschreibung descripcion',
  'category kategorie categorie categoria',
  'brand marke marque marca',
  'sku articlenumber itemnumber artikelnummer artikelnr artnr numeroarticle numerodearticulo',
  'ean gtin barcode strichcode codebarre codebarres codigodebarras',
  'price preis prix precio',
  'amount betrag montant importe',
  'currency wahrung waehrung devise moneda',
  'quantity qty menge anzahl quantite cantidad',
  'color colour farbe couleur',
  'size grosse groesse taille talla tamano',
  'weight gewicht poids peso',
  'url link website homepage webseite webadresse siteweb sitioweb',
  'employees employeecount numberofemployees headcount staffcount mitarbeiter mitarbeiterzahl anzahlmitarbeiter effectif effectifs empleados',
  'comment comments kommentar bemerkung commentaire comentario',
].map((line) => line.split(' '));

const meaningOf = new Map(
  MEANINGS.flatMap((names, meaning) => names.map((name) => [name, meaning] as const)),
);

/** An id shared by all names with the same meaning; null for other names. */
export function findMeaning(name: string): number | null {
  for (const folded of foldName(name)) {
    const meaning = meaningOf.get(folded);
    if (meaning !== undefined) return meaning;
  }
  return null;
}
