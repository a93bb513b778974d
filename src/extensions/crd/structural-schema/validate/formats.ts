/** The string formats that kubernetes knows. Each check accepts the same strings as the validator of kubernetes. */
import { parseAddress, parseLooseAddress, parseLooseCidr } from "../../../../meta/ip-address.ts";
import { isDuration } from "./durations.ts";
import { isEmail } from "./email.ts";
import { isRequestUri } from "./request-uri.ts";
import type { ReleaseGates } from "../../../../objects/release-gates.ts";

export type FormatCheck = (text: string) => boolean;

/**
 * Checks by name of the format. As kubernetes: dashes in the name are ignored at any position, so the keys have none.
 */
const FORMATS: ReadonlyMap<string, FormatCheck> = new Map<string, FormatCheck>([
  ["bsonobjectid", (text) => /^[0-9a-fA-F]{24}$/.test(text)],
  ["uri", isRequestUri],
  ["email", isEmail],
  ["hostname", isHostname],
  ["ipv4", (text) => text.includes(".") && parseLooseAddress(text) !== undefined],
  ["ipv6", (text) => text.includes(":") && parseAddress(text) !== undefined],
  ["cidr", (text) => parseLooseCidr(text) !== undefined],
  ["mac", isMac],
  ["uuid", (text) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(text)],
  ["uuid3", (text) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(text)],
  ["uuid4", (text) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i.test(text)],
  ["uuid5", (text) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i.test(text)],
  ["isbn", (text) => isIsbn10(text) || isIsbn13(text)],
  ["isbn10", isIsbn10],
  ["isbn13", isIsbn13],
  ["creditcard", isCreditCard],
  ["ssn", (text) => /^\d{3}[- ]\d{2}[- ]\d{4}$/.test(text)],
  ["hexcolor", (text) => /^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/.test(text)],
  ["rgbcolor", (text) => RGB_COLOR.test(text)],
  ["byte", isBase64],
  ["password", () => true],
  ["date", isDate],
  ["duration", isDuration],
  ["datetime", isDateTime],
  ["k8sshortname", (text) => text.length <= 63 && /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/.test(text)],
  ["k8slongname", (text) => text.length <= 253 && LONG_NAME.test(text)],
]);

/** Formats that are known only with the release gate CRDNameFormats. */
const NAME_FORMATS: ReadonlySet<string> = new Set(["k8sshortname", "k8slongname"]);

const NUMBER_FORMATS: ReadonlyMap<string, readonly string[]> = new Map([
  ["integer", ["int32", "int64"]],
  ["number", ["float", "double"]],
]);

/** The type if there is exactly one; otherwise "". */
export function onlyType(types: readonly string[]): string {
  const [type = ""] = types;
  return types.length === 1 ? type : "";
}

/** The format as kubernetes uses it; "" if it does not know the format for that type, and therefore ignores it. */
export function knownFormat(format: string | undefined, types: readonly string[], gates: ReleaseGates): string {
  if (format === undefined) return "";
  const type = onlyType(types);
  if (type !== "" && type !== "string") return NUMBER_FORMATS.get(type)?.includes(format) === true ? format : "";
  const name = normalized(format);
  return FORMATS.has(name) && (!NAME_FORMATS.has(name) || gates.isOn("CRDNameFormats")) ? format : "";
}

/** The check for strings; undefined if the format does not apply to strings. */
export function formatCheck(format: string): FormatCheck | undefined {
  return FORMATS.get(normalized(format));
}

function normalized(format: string): string {
  return format.replaceAll("-", "");
}

const LONG_NAME = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

const COLOR_PART = String.raw`[\t\n\f\r ]*(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])[\t\n\f\r ]*`;
const RGB_COLOR = new RegExp(String.raw`^rgb\(${COLOR_PART},${COLOR_PART},${COLOR_PART}\)$`);

const HOSTNAME =
  /^(?:[a-zA-Z0-9\p{S}\p{L}](?:-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?|(?:[a-zA-Z0-9\p{S}\p{L}](?:[a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?\.)+[a-zA-Z\p{L}]{2,63})$/u;
const HOSTNAME_BYTES_MAX = 255;
const HOST_LABEL_BYTES_MAX = 63;

function isHostname(text: string): boolean {
  if (text.length > HOSTNAME_BYTES_MAX || Buffer.byteLength(text) > HOSTNAME_BYTES_MAX) return false;
  return HOSTNAME.test(text) && text.split(".").every((label) => Buffer.byteLength(label) <= HOST_LABEL_BYTES_MAX);
}

/** A MAC address of 6, 8 or 20 bytes, written in groups of two or four digits or without separators. */
function isMac(text: string): boolean {
  const digits = MAC_FORMS.some((form) => form.test(text)) ? text.replace(/[-:.]/g, "").length : 0;
  return digits === 12 || digits === 16 || digits === 40;
}

const MAC_FORMS: readonly RegExp[] = [
  /^[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5,19}$/,
  /^[0-9a-fA-F]{2}(?:-[0-9a-fA-F]{2}){5,19}$/,
  /^[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4}){2,9}$/,
  /^[0-9a-fA-F]{12,40}$/,
];

function isIsbn10(text: string): boolean {
  const digits = text.replace(/[\t\n\f\r -]+/g, "");
  if (!/^(?:[0-9]{9}X|[0-9]{10})$/.test(digits)) return false;
  let sum = 0;
  for (let index = 0; index < 10; index++) sum += (index + 1) * (digits[index] === "X" ? 10 : Number(digits[index]));
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = text.replace(/[\t\n\f\r -]+/g, "");
  if (!/^[0-9]{13}$/.test(digits)) return false;
  let sum = 0;
  for (let index = 0; index < 12; index++) sum += (index % 2 === 0 ? 1 : 3) * Number(digits[index]);
  return Number(digits[12]) === (10 - (sum % 10)) % 10;
}

const CARD_NUMBER =
  /^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$/;

/** Also verifies the Luhn checksum. */
function isCreditCard(text: string): boolean {
  const digits = text.replace(/[^0-9]+/g, "");
  if (!CARD_NUMBER.test(digits)) return false;
  let sum = 0;
  for (let index = 0; index < digits.length; index++) {
    const digit = Number(digits[digits.length - 1 - index]);
    const doubled = index % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/** As kubernetes: the empty string is not base64. */
function isBase64(text: string): boolean {
  return text.length > 0 && text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

function isDate(text: string): boolean {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (match === null) return false;
  const [year = 0, month = 0, day = 0] = match.slice(1).map(Number);
  return month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month);
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** As kubernetes: the text after a second T is ignored. */
function isDateTime(text: string): boolean {
  const [date = "", time] = text.toLowerCase().split("t", 2);
  if (time === undefined || !isDate(date)) return false;
  return /^(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:[^\n][0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})$/u.test(time);
}
