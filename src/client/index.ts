// rowmill/client: the API client for programs.
export {
  type Client,
  type ClientOptions,
  createClient,
  type DownloadRouteName,
  type ItemOf,
  type PagedRouteName,
} from './create-client.ts';
export type { FollowedEvent, StreamedEvent, StreamOptions } from './follow-events.ts';
export type { Download } from './read-download.ts';
export type { Answered, CallOptions, Given } from './route-call.ts';
export { RowmillApiError } from './rowmill-api-error.ts';
export type { NamedBytes, UploadFile, UploadOptions, UploadProgress } from './send-file.ts';
export type { ResumePoint } from './send-in-parts.ts';
