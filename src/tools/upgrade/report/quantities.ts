/** Formats numbers for reports, so that the text and the page show the same figures. */

const BYTE_UNITS: readonly string[] = ["bytes", "KiB", "MiB", "GiB", "TiB"];

/** For example "1,234". */
export function countText(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** For example "1 object" or "1,234 objects". */
export function quantity(count: number, singular: string, plural = `${singular}s`): string {
  return `${countText(count)} ${count === 1 ? singular : plural}`;
}

/** For example "12 bytes" or "1.5 MiB". */
export function bytesText(bytes: number): string {
  let [size, unit] = [bytes, 0];
  while (size >= 1024 && unit < BYTE_UNITS.length - 1) {
    size /= 1024;
    unit++;
  }
  if (unit === 0) return quantity(bytes, "byte");
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${BYTE_UNITS[unit]}`;
}
