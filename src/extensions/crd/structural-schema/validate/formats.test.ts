import { expect, test } from "vitest";
import { formatCheck, knownFormat } from "./formats.ts";
import { gatesOf } from "../../../../objects/catalog/release-gates.ts";

/** The values that kube-apiserver v1.36.4 accepts and rejects, by format. */
const JUDGED: Readonly<Record<string, { readonly valid: readonly string[]; readonly invalid: readonly string[] }>> = {
  date: { valid: ["2020-01-02", "2024-02-29", "0000-01-01"], invalid: ["2020-02-30", "2020-1-2", "2020-13-01", ""] },
  "date-time": {
    valid: [
      "2020-01-02T03:04:05Z",
      "2020-01-02t03:04:05.123+01:00",
      "2020-01-02T03:04:05x123Z",
      "2020-01-02T03:04:05ZT",
    ],
    invalid: ["2020-01-02T24:04:05Z", "2020-01-02 03:04:05Z", "2020-01-02T03:04:05", ""],
  },
  byte: { valid: ["YQ==", "YWI=", "YWJj"], invalid: ["", "YQ=", "Y===", "YQ==\n", "a-_b"] },
  password: { valid: ["", "x"], invalid: [] },
  duration: {
    valid: [
      "1s",
      "1.5h",
      "22 ns",
      "3 days",
      "0",
      "-0",
      "1.h",
      ".5s",
      "5 milliseconds",
      "2hr",
      "3µs",
      "9223372036854775807h",
    ],
    invalid: ["", "1", "x", "x1y", "2hrs", "00", ".", "100000000000000000000h"],
  },
  uri: {
    valid: [
      "http://a.b/c",
      "/x/y",
      "*",
      "http://[::1]:80/",
      "mailto:x",
      "foo://a:80:90/",
      "//x",
      "http://u:p@h/",
      "http://é.x/",
      "http://[fe80::1%25en0]/",
    ],
    invalid: [
      "",
      "x",
      "http://a b",
      "http://[::1",
      "http://a:b",
      "http://a:80:90/",
      "http://%zz/",
      "/a%zz",
      ":x",
      "http://u^@h",
      "http://[1.2.3.4]/",
      "1x:y",
    ],
  },
  email: {
    valid: [
      "a@b",
      "Foo <a@b.c>",
      '"a b"@c',
      "a@[1.2.3.4]",
      "a@b (hi)",
      "<a@b>",
      "g: a@b;",
      "é@ü",
      "Foo (x) Bar <a@b>",
      " a@b ",
    ],
    invalid: [
      "",
      "a",
      "a@",
      "@b",
      "a@b c",
      "a@[x]",
      "Foo Bar <a@b> x",
      "a(c)@b",
      "g: a@b, c@d;",
      "g:;",
      "a..b@c",
      ".a@b",
      '""@b',
      "a @b",
    ],
  },
  hostname: {
    valid: ["a", "a.bc", "A.COM", "a-b.com", "é.com", "😀.com", "a".repeat(63)],
    invalid: ["", "-a", "a.b", "a_b.cd", "1.2.3.4", "a.com.", "a".repeat(64)],
  },
  ipv4: { valid: ["1.2.3.4", "01.2.3.4", "::ffff:1.2.3.4"], invalid: ["1.2.3", "256.1.1.1", "::1", ""] },
  ipv6: {
    valid: ["::1", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4"],
    invalid: ["1.2.3.4", "fe80::1%eth0", "1::2::3", "00001::"],
  },
  cidr: { valid: ["1.2.3.4/8", "01.2.3.4/8", "::1/64"], invalid: ["1.2.3.4/33", "1.2.3.4", ""] },
  mac: {
    valid: ["01:23:45:67:89:ab", "01-23-45-67-89-ab", "0123.4567.89ab", "01:23:45:67:89:ab:cd:ef"],
    invalid: ["01:23:45:67:89", "01:23-45:67:89:ab", ""],
  },
  uuid: {
    valid: ["123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"],
    invalid: ["123e4567", ""],
  },
  uuid3: { valid: ["123e4567-e89b-32d3-a456-426614174000"], invalid: ["123e4567-e89b-12d3-a456-426614174000"] },
  uuid4: { valid: ["123e4567-e89b-42d3-a456-426614174000"], invalid: ["123e4567-e89b-42d3-c456-426614174000"] },
  uuid5: { valid: ["123e4567-e89b-52d3-a456-426614174000"], invalid: ["123e4567-e89b-42d3-a456-426614174000"] },
  isbn: { valid: ["0321751043", "978-0321751041", "080442957X"], invalid: ["978-0321751042", ""] },
  isbn10: { valid: ["0-321-75104-3"], invalid: ["0321751044", "978-0321751041"] },
  isbn13: { valid: ["978-0321751041"], invalid: ["0321751043"] },
  creditcard: { valid: ["4111 1111 1111 1111", "378282246310005"], invalid: ["4111-1111-1111-1112", ""] },
  ssn: { valid: ["123-45-6789", "123 45 6789"], invalid: ["123456789", ""] },
  hexcolor: { valid: ["#fff", "fff", "#FFFFFF"], invalid: ["#ffff", ""] },
  rgbcolor: { valid: ["rgb(1,2,3)", "rgb( 255 , 2 , 3 )"], invalid: ["rgb(256,1,1)", ""] },
  bsonobjectid: { valid: ["507f1f77bcf86cd799439011"], invalid: ["507f1f77bcf86cd79943901x", ""] },
  "k8s-short-name": { valid: ["abc"], invalid: ["a.b", "A", "a".repeat(64), ""] },
  "k8s-long-name": { valid: ["abc", "a.b"], invalid: ["A", "-a", ""] },
};

test.each(Object.entries(JUDGED))(
  "the format %s accepts and rejects the same values as kube-apiserver",
  (format, { valid, invalid }) => {
    const check = formatCheck(knownFormat(format, ["string"], gatesOf("1.36")));
    expect(valid.filter((text) => check?.(text) !== true)).toEqual([]);
    expect(invalid.filter((text) => check?.(text) !== false)).toEqual([]);
  },
);

test.each<[string, string[], string]>([
  ["int32", ["integer"], "int32"],
  ["date", ["integer"], ""],
  ["double", ["number"], "double"],
  ["date", ["object"], ""],
  ["date", ["integer", "string"], "date"],
  ["date", [], "date"],
  ["constructor", ["string"], ""],
  ["constructor", ["constructor"], ""],
])("the format %s for the types %j is treated as the format %j", (format, types, expected) => {
  expect(knownFormat(format, types, gatesOf("1.36"))).toBe(expected);
});

test.each(Object.keys(JUDGED))("the format %s is checked quickly for any input", (format) => {
  const check = formatCheck(format);
  const start = performance.now();
  for (const piece of ["a", "a.", "1", "(", "<", "a@", "%", '"', "1h", "-", " ", "[", "=", "AAAA"])
    check?.(piece.repeat(100_000));
  expect(performance.now() - start).toBeLessThan(5000);
});
