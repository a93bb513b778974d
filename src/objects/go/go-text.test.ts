import { describe, expect, test } from "vitest";
import { base64Error, timeError } from "./go-text.ts";

/** The messages of Go 1.26 and Kubernetes 1.37 for each text. */
const BASE64: readonly (readonly [text: string, sentence: string | undefined])[] = [
  ["", undefined],
  ["YQ==", undefined],
  ["YWI=", undefined],
  ["YWJj", undefined],
  ["YQ", "illegal base64 data at input byte 0"],
  ["YQ=", "illegal base64 data at input byte 3"],
  ["Y", "illegal base64 data at input byte 0"],
  ["YWJ", "illegal base64 data at input byte 0"],
  ["YQ===", "illegal base64 data at input byte 4"],
  ["=", "illegal base64 data at input byte 0"],
  ["==", "illegal base64 data at input byte 0"],
  ["====", "illegal base64 data at input byte 0"],
  ["Y===", "illegal base64 data at input byte 1"],
  ["Y=Q=", "illegal base64 data at input byte 1"],
  ["YQ=Q", "illegal base64 data at input byte 2"],
  ["YQ==YQ==", "illegal base64 data at input byte 4"],
  ["YW Jj", "illegal base64 data at input byte 2"],
  ["YWJj\n", undefined],
  ["YW\nJj", undefined],
  ["YQ\n==", undefined],
  ["YQ=\n=", undefined],
  ["YQ==\n", undefined],
  ["YQ==x", "illegal base64 data at input byte 4"],
  ["not base64!", "illegal base64 data at input byte 3"],
  ["-_-_", "illegal base64 data at input byte 0"],
  ["YWJj=", "illegal base64 data at input byte 4"],
  ["YWJjY", "illegal base64 data at input byte 4"],
  ["YWJjYQ", "illegal base64 data at input byte 4"],
  ["\u00e9", "illegal base64 data at input byte 0"],
  ["YQ==\r\n", undefined],
  ["!", "illegal base64 data at input byte 0"],
  ["Y!", "illegal base64 data at input byte 1"],
  ["YW!", "illegal base64 data at input byte 2"],
  ["YWJ!", "illegal base64 data at input byte 3"],
  ["YWJjYQ=", "illegal base64 data at input byte 7"],
  ["YWJj\nY", "illegal base64 data at input byte 5"],
  ["\n", undefined],
  ["Y\nWJj\nZGV", "illegal base64 data at input byte 6"],
];

const TIMES: readonly (readonly [text: string, sentence: string | undefined])[] = [
  ["2024-01-02T03:04:05Z", undefined],
  ["2024-01-02T03:04:05+02:00", undefined],
  ["2024-01-02T03:04:05.123456Z", undefined],
  [
    "2024-01-02t03:04:05z",
    'parsing time "2024-01-02t03:04:05z" as "2006-01-02T15:04:05Z07:00": cannot parse "t03:04:05z" as "T"',
  ],
  [
    "2024-01-02T03:04:05z",
    'parsing time "2024-01-02T03:04:05z" as "2006-01-02T15:04:05Z07:00": cannot parse "z" as "Z07:00"',
  ],
  ["2024-01-02", 'parsing time "2024-01-02" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"'],
  ["", 'parsing time "" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"'],
  ["x", 'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'],
  ["2024", 'parsing time "2024" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "-"'],
  ["2024-13-02T03:04:05Z", 'parsing time "2024-13-02T03:04:05Z": month out of range'],
  ["2024-00-02T03:04:05Z", 'parsing time "2024-00-02T03:04:05Z": month out of range'],
  ["2024-02-30T03:04:05Z", 'parsing time "2024-02-30T03:04:05Z": day out of range'],
  ["2023-02-29T00:00:00Z", 'parsing time "2023-02-29T00:00:00Z": day out of range'],
  ["2024-02-29T00:00:00Z", undefined],
  ["2024-01-32T03:04:05Z", 'parsing time "2024-01-32T03:04:05Z": day out of range'],
  ["2024-01-00T03:04:05Z", 'parsing time "2024-01-00T03:04:05Z": day out of range'],
  ["2024-01-02T24:04:05Z", 'parsing time "2024-01-02T24:04:05Z": hour out of range'],
  ["2024-01-02T03:60:05Z", 'parsing time "2024-01-02T03:60:05Z": minute out of range'],
  ["2024-01-02T03:04:60Z", 'parsing time "2024-01-02T03:04:60Z": second out of range'],
  [
    "2024-01-02T03:04:05",
    'parsing time "2024-01-02T03:04:05" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00"',
  ],
  [
    "2024-01-02T03:04:05.Z",
    'parsing time "2024-01-02T03:04:05.Z" as "2006-01-02T15:04:05Z07:00": cannot parse ".Z" as "Z07:00"',
  ],
  ["2024-01-02T03:04:05,5Z", undefined],
  ["2024-01-02T3:04:05Z", undefined],
  [
    "2024-01-02T03:04:05+2:00",
    'parsing time "2024-01-02T03:04:05+2:00" as "2006-01-02T15:04:05Z07:00": cannot parse "+2:00" as "Z07:00"',
  ],
  ["2024-01-02T03:04:05+25:00", 'parsing time "2024-01-02T03:04:05+25:00": time zone offset hour out of range'],
  [
    "2024-01-02T03:04:05+0200",
    'parsing time "2024-01-02T03:04:05+0200" as "2006-01-02T15:04:05Z07:00": cannot parse "+0200" as "Z07:00"',
  ],
  ["2024-01-02T03:04:05Zx", 'parsing time "2024-01-02T03:04:05Zx": extra text: "x"'],
  ["2024-01-02T03:04:05+02:00x", 'parsing time "2024-01-02T03:04:05+02:00x": extra text: "x"'],
  [
    "2024-1-02T03:04:05Z",
    'parsing time "2024-1-02T03:04:05Z" as "2006-01-02T15:04:05Z07:00": cannot parse "1-02T03:04:05Z" as "01"',
  ],
  [
    "24-01-02T03:04:05Z",
    'parsing time "24-01-02T03:04:05Z" as "2006-01-02T15:04:05Z07:00": cannot parse "24-01-02T03:04:05Z" as "2006"',
  ],
  [
    "2024-01-02 03:04:05Z",
    'parsing time "2024-01-02 03:04:05Z" as "2006-01-02T15:04:05Z07:00": cannot parse " 03:04:05Z" as "T"',
  ],
  ["0000-01-01T00:00:00Z", undefined],
  ["2024-01-02T03:04", 'parsing time "2024-01-02T03:04" as "2006-01-02T15:04:05Z07:00": cannot parse "" as ":"'],
  ["2024-01-02T03:04:05+02:60", undefined],
  ["2024-01-02T03:04:05+24:00", undefined],
  ["2024-01-02T03:04:05+23:59", undefined],
  ["2024-01-02T03:04:05-00:00", undefined],
  [
    "2024-01-02T03:4:05Z",
    'parsing time "2024-01-02T03:4:05Z" as "2006-01-02T15:04:05Z07:00": cannot parse "4:05Z" as "04"',
  ],
  [
    "2024-01-02T03:04:5Z",
    'parsing time "2024-01-02T03:04:5Z" as "2006-01-02T15:04:05Z07:00": cannot parse "5Z" as "05"',
  ],
  [
    "2024/01/02T03:04:05Z",
    'parsing time "2024/01/02T03:04:05Z" as "2006-01-02T15:04:05Z07:00": cannot parse "/01/02T03:04:05Z" as "-"',
  ],
  ["2024-01-02T", 'parsing time "2024-01-02T" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "15"'],
  ["2024-01-0", 'parsing time "2024-01-0" as "2006-01-02T15:04:05Z07:00": cannot parse "0" as "02"'],
  ["20240", 'parsing time "20240" as "2006-01-02T15:04:05Z07:00": cannot parse "0" as "-"'],
  [
    '2024-01-02T03:04:05"Z',
    'parsing time "2024-01-02T03:04:05\\"Z" as "2006-01-02T15:04:05Z07:00": cannot parse "\\"Z" as "Z07:00"',
  ],
  ["\u00e9", 'parsing time "\\xc3\\xa9" as "2006-01-02T15:04:05Z07:00": cannot parse "\\xc3\\xa9" as "2006"'],
  ["2024-01-02T03:04:05.1234567890123Z", undefined],
  [
    "2024-01-02T03:04:05.5",
    'parsing time "2024-01-02T03:04:05.5" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00"',
  ],
  ["2024-04-31T00:00:00Z", 'parsing time "2024-04-31T00:00:00Z": day out of range'],
  [
    "2024-01-02T03:04:05.x5Z",
    'parsing time "2024-01-02T03:04:05.x5Z" as "2006-01-02T15:04:05Z07:00": cannot parse ".x5Z" as "Z07:00"',
  ],
  [
    "+024-01-02T03:04:05Z",
    'parsing time "+024-01-02T03:04:05Z" as "2006-01-02T15:04:05Z07:00": cannot parse "+024-01-02T03:04:05Z" as "2006"',
  ],
  ["2024-01-02T03:04:99Z", 'parsing time "2024-01-02T03:04:99Z": second out of range'],
  [
    "2024-01-02Tab:04:05Z",
    'parsing time "2024-01-02Tab:04:05Z" as "2006-01-02T15:04:05Z07:00": cannot parse "ab:04:05Z" as "15"',
  ],
  [
    "2024-01-02T03:04:05 Z",
    'parsing time "2024-01-02T03:04:05 Z" as "2006-01-02T15:04:05Z07:00": cannot parse " Z" as "Z07:00"',
  ],
  [
    "2024-01-02T03:04:05+ab:00",
    'parsing time "2024-01-02T03:04:05+ab:00" as "2006-01-02T15:04:05Z07:00": cannot parse "+ab:00" as "Z07:00"',
  ],
];

describe("base64Error", () => {
  test.each(BASE64)("of %j is Go's message", (text, sentence) => {
    expect(base64Error(text)).toBe(sentence);
  });

  test.each(["Y\nW", "YQ\n", "Y\n\nW\n"])("counts line breaks inside a last incomplete group of %j", (text) => {
    expect(base64Error(text)).toBe(
      `illegal base64 data at input byte ${text.length - text.replaceAll("\n", "").length}`,
    );
  });

  test("checks texts of several megabytes, valid or with an error at the end", () => {
    const long = "YWJj".repeat(750_000);
    expect(base64Error(long)).toBeUndefined();
    expect(base64Error(`${long}\n`)).toBeUndefined();
    expect(base64Error(`${long}!`)).toBe("illegal base64 data at input byte 3000000");
  });
});

describe("timeError", () => {
  test.each(TIMES)("of %j is Go's message", (text, sentence) => {
    expect(timeError(text)).toBe(sentence);
  });
});
