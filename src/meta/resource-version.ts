/**
 * Go's error messages for texts that are not integers. A resourceVersion is such an integer: the revision of the store
 * in decimal, where "" and "0" have special meanings.
 */

/**
 * The message of Go's ParseUint; undefined if the text is a valid number. Numbers above 2^53 count as out of range.
 * Clients show this text.
 */
export function parseUintError(text: string): string | undefined {
  if (/^[0-9]+$/.test(text))
    return Number(text) > Number.MAX_SAFE_INTEGER
      ? `strconv.ParseUint: parsing ${JSON.stringify(text)}: value out of range`
      : undefined;
  return `strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`;
}

export function parseIntError(text: string): string | undefined {
  if (/^[+-]?[0-9]+$/.test(text))
    return Number.isSafeInteger(Number(text))
      ? undefined
      : `strconv.ParseInt: parsing ${JSON.stringify(text)}: value out of range`;
  return `strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`;
}
