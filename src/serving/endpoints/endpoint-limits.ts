/** Maximum size of a request body, as in kube-apiserver. */
export const BODY_BYTES_MAX = 3 * 1024 * 1024;
/** Maximum length of a label or field selector. */
export const SELECTOR_CHARACTERS_MAX = 64 * 1024;
/** Minimum duration of a watch without timeoutSeconds. It ends after a random time between this and twice this. */
export const WATCH_TIMEOUT_MS_MIN = 30 * 60_000;
export const BOOKMARK_INTERVAL_MS = 60_000;
/** Time between the last bookmark of a watch and its timeout. */
export const BOOKMARK_BEFORE_END_MS = 2_000;
