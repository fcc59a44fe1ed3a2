// `context.fetch`: the platform's fetch with what a call of a row needs.

export interface ItemFetchOptions extends RequestInit {
  /** Statuses besides 200 to 299 that are answers, not failures, such as 404. */
  accept?: readonly number[];
  /**
   * Header `Idempotency-Key`. Default: the key of the call, except for GET and HEAD. True: the key for these too. False: no
   * header. A header that is given stays as it is.
   */
  idempotencyKey?: boolean | string;
}

/** Throws `httpError` for other statuses. Aborts with the call. */
export type ItemFetch = (input: string | URL | Request, options?: ItemFetchOptions) => Promise<Response>;
