// The one error of this folder. It has the shape of the project's error type (code, message, hint), so the caller
// can turn one into the other without reading the text.

export type EmbeddedPostgresErrorCode =
  | 'EMBEDDED_POSTGRES_UNSUPPORTED_PLATFORM'
  | 'EMBEDDED_POSTGRES_BINARIES_UNUSABLE'
  | 'EMBEDDED_POSTGRES_NO_SERVER_USER'
  | 'EMBEDDED_POSTGRES_FOLDER_UNREACHABLE'
  | 'EMBEDDED_POSTGRES_FOLDER_IN_USE'
  | 'EMBEDDED_POSTGRES_FOLDER_INVALID'
  | 'EMBEDDED_POSTGRES_WRONG_VERSION'
  | 'EMBEDDED_POSTGRES_INVALID_SETTING'
  | 'EMBEDDED_POSTGRES_INIT_FAILED'
  | 'EMBEDDED_POSTGRES_PASSWORD_REJECTED'
  | 'EMBEDDED_POSTGRES_START_FAILED'
  | 'EMBEDDED_POSTGRES_STOP_FAILED';

export class EmbeddedPostgresError extends Error {
  readonly code: EmbeddedPostgresErrorCode;
  readonly hint: string;

  constructor(code: EmbeddedPostgresErrorCode, message: string, hint: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'EmbeddedPostgresError';
    this.code = code;
    this.hint = hint;
  }
}
