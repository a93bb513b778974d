/** Values that malicious or broken clients may send. */
import type { Dice, Weighted } from "./dice.ts";
import { Literal, Members } from "./json-text.ts";

export const HOSTILE_KEYS: readonly string[] = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "valueOf",
  "length",
  "",
  " ",
  ".",
  "..",
  "/",
  "~",
  "~0",
  "~1",
  "$patch",
  "$retainKeys",
  "$setElementOrder/containers",
  "$deleteFromPrimitiveList/finalizers",
  "f:metadata",
  "k:{}",
  "v:1",
  "a.b/c",
  "a/b/c",
  "\u0000",
  "\ud800",
  "é\u0301",
  "KIND",
  "Metadata",
  "0",
  "-1",
  "4294967295",
];

const HOSTILE_STRINGS: readonly string[] = [
  "",
  " ",
  "\t",
  "\n",
  "\u0000",
  "\u2028",
  "\ufeff",
  "\ud800",
  "\udfff\ud800",
  "💥",
  "é\u0301",
  "İ",
  "ß",
  "NaN",
  "Infinity",
  "-Infinity",
  "null",
  "true",
  "undefined",
  "-",
  "--",
  ".",
  "..",
  "../..",
  "/",
  "//",
  "a/",
  "/a",
  "a//b",
  "A",
  "a_b",
  "a-",
  "-a",
  "a..b",
  "%",
  "%00",
  "%s%n",
  "${x}",
  "$(X)",
  "{{.}}",
  "[",
  "(",
  "(a+)+$",
  "*",
  "?",
  "\\",
  '"',
  "'",
  "=",
  "a=b",
  "a,b",
  "!a",
  "a in (b)",
  "None",
  "default",
  "kube-system",
  "kubernetes",
];

const LONG_UNITS: readonly string[] = [
  "a",
  "a.",
  "a-",
  "-",
  "/",
  ".",
  "é",
  "💥",
  "\ud800",
  "0",
  "9",
  " ",
  "(",
  "a,",
  '"',
];

const QUANTITIES: readonly string[] = [
  "0",
  "-0",
  "1",
  "-1",
  "1.",
  ".5",
  "-.5",
  "1e3",
  "1E3",
  "1e-3",
  "1e400",
  "1e-400",
  "1e99999999999",
  "1e-99999999999",
  "1Ei1",
  "1Ki",
  "1ki",
  "1k",
  "1K",
  "1m",
  "1u",
  "1n",
  "0.1n",
  "0.0000000001",
  "1E",
  "1Ei",
  "9223372036854775807",
  "9223372036854775808",
  "-9223372036854775809",
  "99999999999999999999Ei",
  "123456789012345678901234567890.123456789012345678901234567890",
  "+1",
  "++1",
  "1 ",
  " 1",
  "1_000",
  "0x10",
  "1e",
  "1.2.3",
  "1mm",
  "٣",
];

const TIMES: readonly string[] = [
  "2030-01-01T00:00:00Z",
  "2030-01-01T00:00:00.5Z",
  "2030-01-01T00:00:00.123456789Z",
  "2030-01-01T00:00:00.000000Z",
  "2030-01-01T24:00:00Z",
  "2030-01-01T23:59:60Z",
  "2030-02-30T00:00:00Z",
  "2030-13-01T00:00:00Z",
  "0000-01-01T00:00:00Z",
  "0001-01-01T00:00:00Z",
  "9999-12-31T23:59:59Z",
  "10000-01-01T00:00:00Z",
  "-0001-01-01T00:00:00Z",
  "2030-01-01T00:00:00+23:59",
  "2030-01-01T00:00:00-00:00",
  "2030-01-01T00:00:00+99:99",
  "9999-12-31T23:59:59-23:00",
  "0001-01-01T00:00:00+01:00",
  "2030-01-01t00:00:00z",
  "2030-01-01 00:00:00Z",
  "2030-01-01",
  "T",
];

const ADDRESSES: readonly string[] = [
  "10.0.0.1",
  "10.0.0.0",
  "010.0.0.1",
  "10.0.0",
  "10.0.0.256",
  "1.2.3.4.5",
  "0.0.0.0",
  "255.255.255.255",
  "127.0.0.1",
  "169.254.1.1",
  "::",
  "::1",
  "fd00::1",
  "FD00::1",
  "::ffff:10.0.0.1",
  "fe80::1%eth0",
  "1:2:3:4:5:6:7:8:9",
  ":::",
  "10.0.0.0/8",
  "10.0.0.1/8",
  "10.0.0.0/33",
  "10.0.0.0/-1",
  "10.0.0.0/08",
  "::/0",
  "fd00::/129",
  "/",
];

const TERSE: readonly string[] = [
  "80",
  "http",
  "65536",
  "-1",
  "100%",
  "101%",
  "-1%",
  "%",
  "0%",
  "00%",
  "1.5%",
  "99999999999999999999%",
  "* * * * *",
  "60 * * * *",
  "@every 1h",
  "@every 0s",
  "CRON_TZ=Nowhere/No * * * * *",
  "*/0 * * * *",
  "1-0 * * * *",
  "1h",
  "-1h",
  "1h1m1.5s",
  "300000h",
  "1y",
];

const NUMBERS: readonly (number | Literal)[] = [
  0,
  -0,
  1,
  -1,
  65_535,
  65_536,
  2_147_483_647,
  2_147_483_648,
  -2_147_483_649,
  4_294_967_296,
  0.5,
  -0.1,
  1e21,
  5e-324,
  1.7976931348623157e308,
  new Literal("-0"),
  new Literal("-0.0"),
  new Literal("1.0"),
  new Literal("1e0"),
  new Literal("1E+2"),
  new Literal("9007199254740993"),
  new Literal("9223372036854775807"),
  new Literal("9223372036854775808"),
  new Literal("-9223372036854775808"),
  new Literal("-9223372036854775809"),
  new Literal("18446744073709551615"),
  new Literal("1e400"),
  new Literal("-1e400"),
  new Literal("1e-400"),
  new Literal("0.1000000000000000055511151231257827021181583404541015625"),
  new Literal("1".repeat(400)),
];

export function hostileString(dice: Dice): string {
  return dice.weighted(STRING_SOURCES)(dice);
}

const STRING_SOURCES: Weighted<(dice: Dice) => string> = [
  [8, (dice) => dice.pick(HOSTILE_STRINGS)],
  [2, (dice) => dice.pick(QUANTITIES)],
  [2, (dice) => dice.pick(TIMES)],
  [2, (dice) => dice.pick(ADDRESSES)],
  [3, (dice) => dice.pick(TERSE)],
  [2, (dice) => dice.pick(HOSTILE_KEYS)],
  [2, longString],
];

/** A string whose length is near a limit of validation, and sometimes far beyond it. */
export function longString(dice: Dice): string {
  const length = dice.pick([62, 63, 64, 127, 128, 252, 253, 254, 255, 256, 316, 317, 1_023, 1_024, 4_096, 20_000]);
  return dice.pick(LONG_UNITS).repeat(length).slice(0, length);
}

export function hostileQuantity(dice: Dice): unknown {
  return dice.chance(0.8) ? dice.pick(QUANTITIES) : dice.pick(NUMBERS);
}

export function hostileTime(dice: Dice): string {
  return dice.pick(TIMES);
}

export function hostileAddress(dice: Dice): string {
  return dice.pick(ADDRESSES);
}

export function hostileNumber(dice: Dice): number | Literal {
  return dice.pick(NUMBERS);
}

/** A hostile value of any type. */
export function hostileValue(dice: Dice): unknown {
  return dice.weighted(VALUE_SOURCES)(dice);
}

const VALUE_SOURCES: Weighted<(dice: Dice) => unknown> = [
  [8, hostileString],
  [6, hostileNumber],
  [3, () => null],
  [2, (dice) => dice.chance(0.5)],
  [2, () => []],
  [2, () => ({})],
  [2, (dice) => [hostileString(dice), hostileNumber(dice), null]],
  [2, (dice) => hostileObject(dice)],
  [1, (dice) => nested(dice)],
  [1, (dice) => manyMembers(dice)],
  [1, (dice) => Array.from({ length: dice.pick([2, 100, 1_000]) }, () => dice.pick([null, 0, "a", {}]))],
];

function hostileObject(dice: Dice): Members {
  const key = dice.pick(HOSTILE_KEYS);
  const again = dice.chance(0.3) ? [[key, hostileString(dice)] as const] : [];
  return new Members([[key, dice.pick([null, {}, [], "a", 1])], ...again, [dice.pick(HOSTILE_KEYS), "b"]]);
}

function nested(dice: Dice): Literal {
  const depth = dice.pick([10, 100, 1_000, 9_990, 10_100]);
  const [open, close] = dice.pick([
    ["[", "]"],
    ['{"a":', "}"],
    ['[{"items":', "}]"],
  ] as const);
  return new Literal(open.repeat(depth) + "1" + close.repeat(depth));
}

function manyMembers(dice: Dice): Members {
  const count = dice.pick([50, 1_000]);
  return new Members(
    Array.from({ length: count }, (_, index) => [`k${index}`, dice.pick(["", "a", null, 1])] as const),
  );
}
