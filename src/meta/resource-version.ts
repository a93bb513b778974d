/** A resourceVersion is the revision of the store in decimal; "" and "0" have special meanings. */

/** Go's message for a number that it cannot parse; clients show this text. */
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
