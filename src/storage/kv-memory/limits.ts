/** Larger values are refused with `too-large`; well above what a request body may hold. */
export const VALUE_BYTES_MAX = 8 * 1024 * 1024;
