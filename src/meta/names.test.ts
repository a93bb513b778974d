import { describe, expect, test } from "vitest";
import {
  dns1035LabelErrors,
  dnsLabelErrors,
  dnsSubdomainErrors,
  generateName,
  labelValueErrors,
  pathSegmentErrors,
  qualifiedNameErrors,
} from "./names.ts";

const SUBDOMAIN = String.raw`a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`;
const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_1035 =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const NAME_PART =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_KEY =
  "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
const VALUE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const PREFIX = `prefix part ${SUBDOMAIN}`;

type Rules = Readonly<Record<"subdomain" | "label" | "label1035" | "path" | "key" | "value", string[]>>;

/** The messages of Kubernetes 1.36 for each name under each rule. */
const NAMES: readonly (readonly [name: string, rules: Rules])[] = [
  [
    "",
    {
      subdomain: [SUBDOMAIN],
      label: [LABEL],
      label1035: [LABEL_1035],
      path: [],
      key: ["name part must be non-empty", NAME_PART],
      value: [],
    },
  ],
  ["a", { subdomain: [], label: [], label1035: [], path: [], key: [], value: [] }],
  ["a-b", { subdomain: [], label: [], label1035: [], path: [], key: [], value: [] }],
  [
    "-a",
    { subdomain: [SUBDOMAIN], label: [LABEL], label1035: [LABEL_1035], path: [], key: [NAME_PART], value: [VALUE] },
  ],
  [
    "a-",
    { subdomain: [SUBDOMAIN], label: [LABEL], label1035: [LABEL_1035], path: [], key: [NAME_PART], value: [VALUE] },
  ],
  ["a.b", { subdomain: [], label: ["must not contain dots"], label1035: [LABEL_1035], path: [], key: [], value: [] }],
  ["a..b", { subdomain: [SUBDOMAIN], label: [LABEL], label1035: [LABEL_1035], path: [], key: [], value: [] }],
  [
    ".a",
    { subdomain: [SUBDOMAIN], label: [LABEL], label1035: [LABEL_1035], path: [], key: [NAME_PART], value: [VALUE] },
  ],
  ["A", { subdomain: [SUBDOMAIN], label: [LABEL], label1035: [LABEL_1035], path: [], key: [], value: [] }],
  ["a_b", { subdomain: [SUBDOMAIN], label: [LABEL], label1035: [LABEL_1035], path: [], key: [], value: [] }],
  ["x".repeat(63), { subdomain: [], label: [], label1035: [], path: [], key: [], value: [] }],
  [
    "x".repeat(64),
    {
      subdomain: [],
      label: ["must be no more than 63 characters"],
      label1035: ["must be no more than 63 characters"],
      path: [],
      key: ["name part must be no more than 63 bytes"],
      value: ["must be no more than 63 bytes"],
    },
  ],
  [
    "x".repeat(253),
    {
      subdomain: [],
      label: ["must be no more than 63 characters"],
      label1035: ["must be no more than 63 characters"],
      path: [],
      key: ["name part must be no more than 63 bytes"],
      value: ["must be no more than 63 bytes"],
    },
  ],
  [
    "x".repeat(254),
    {
      subdomain: ["must be no more than 253 characters"],
      label: ["must be no more than 63 characters"],
      label1035: ["must be no more than 63 characters"],
      path: [],
      key: ["name part must be no more than 63 bytes"],
      value: ["must be no more than 63 bytes"],
    },
  ],
  ["1a", { subdomain: [], label: [], label1035: [LABEL_1035], path: [], key: [], value: [] }],
  [
    ".",
    {
      subdomain: [SUBDOMAIN],
      label: [LABEL],
      label1035: [LABEL_1035],
      path: ["may not be '.'"],
      key: [NAME_PART],
      value: [VALUE],
    },
  ],
  [
    "..",
    {
      subdomain: [SUBDOMAIN],
      label: [LABEL],
      label1035: [LABEL_1035],
      path: ["may not be '..'"],
      key: [NAME_PART],
      value: [VALUE],
    },
  ],
  [
    "a/b",
    {
      subdomain: [SUBDOMAIN],
      label: [LABEL],
      label1035: [LABEL_1035],
      path: ["may not contain '/'"],
      key: [],
      value: [VALUE],
    },
  ],
  [
    "a%b",
    {
      subdomain: [SUBDOMAIN],
      label: [LABEL],
      label1035: [LABEL_1035],
      path: ["may not contain '%'"],
      key: [NAME_PART],
      value: [VALUE],
    },
  ],
  [
    "a/b/c",
    {
      subdomain: [SUBDOMAIN],
      label: [LABEL],
      label1035: [LABEL_1035],
      path: ["may not contain '/'"],
      key: [LABEL_KEY],
      value: [VALUE],
    },
  ],
  [
    "/a",
    {
      subdomain: [SUBDOMAIN],
      label: [LABEL],
      label1035: [LABEL_1035],
      path: ["may not contain '/'"],
      key: ["prefix part must be non-empty"],
      value: [VALUE],
    },
  ],
  [
    "a/",
    {
      subdomain: [SUBDOMAIN],
      label: [LABEL],
      label1035: [LABEL_1035],
      path: ["may not contain '/'"],
      key: ["name part must be non-empty", NAME_PART],
      value: [VALUE],
    },
  ],
  [
    "A/b",
    {
      subdomain: [SUBDOMAIN],
      label: [LABEL],
      label1035: [LABEL_1035],
      path: ["may not contain '/'"],
      key: [PREFIX],
      value: [VALUE],
    },
  ],
  [
    "\u00e9",
    { subdomain: [SUBDOMAIN], label: [LABEL], label1035: [LABEL_1035], path: [], key: [NAME_PART], value: [VALUE] },
  ],
  [
    "x".repeat(5000),
    {
      subdomain: ["must be no more than 253 characters"],
      label: ["must be no more than 63 characters"],
      label1035: ["must be no more than 63 characters"],
      path: [],
      key: ["name part must be no more than 63 bytes"],
      value: ["must be no more than 63 bytes"],
    },
  ],
  [
    "a\n",
    { subdomain: [SUBDOMAIN], label: [LABEL], label1035: [LABEL_1035], path: [], key: [NAME_PART], value: [VALUE] },
  ],
  [
    "a b",
    { subdomain: [SUBDOMAIN], label: [LABEL], label1035: [LABEL_1035], path: [], key: [NAME_PART], value: [VALUE] },
  ],
  [
    "ex.com/A",
    {
      subdomain: [SUBDOMAIN],
      label: [LABEL],
      label1035: [LABEL_1035],
      path: ["may not contain '/'"],
      key: [],
      value: [VALUE],
    },
  ],
  [
    `${"x".repeat(254)}/a`,
    {
      subdomain: ["must be no more than 253 characters", SUBDOMAIN],
      label: ["must be no more than 63 characters", LABEL],
      label1035: ["must be no more than 63 characters", LABEL_1035],
      path: ["may not contain '/'"],
      key: ["prefix part must be no more than 253 bytes"],
      value: ["must be no more than 63 bytes", VALUE],
    },
  ],
  [
    `a/${"x".repeat(64)}`,
    {
      subdomain: [SUBDOMAIN],
      label: ["must be no more than 63 characters", LABEL],
      label1035: ["must be no more than 63 characters", LABEL_1035],
      path: ["may not contain '/'"],
      key: ["name part must be no more than 63 bytes"],
      value: ["must be no more than 63 bytes", VALUE],
    },
  ],
  [
    "ex.com/",
    {
      subdomain: [SUBDOMAIN],
      label: [LABEL],
      label1035: [LABEL_1035],
      path: ["may not contain '/'"],
      key: ["name part must be non-empty", NAME_PART],
      value: [VALUE],
    },
  ],
  [
    "/",
    {
      subdomain: [SUBDOMAIN],
      label: [LABEL],
      label1035: [LABEL_1035],
      path: ["may not contain '/'"],
      key: ["prefix part must be non-empty", "name part must be non-empty", NAME_PART],
      value: [VALUE],
    },
  ],
  [
    "//",
    {
      subdomain: [SUBDOMAIN],
      label: [LABEL],
      label1035: [LABEL_1035],
      path: ["may not contain '/'"],
      key: [LABEL_KEY],
      value: [VALUE],
    },
  ],
  [
    "a/-",
    {
      subdomain: [SUBDOMAIN],
      label: [LABEL],
      label1035: [LABEL_1035],
      path: ["may not contain '/'"],
      key: [NAME_PART],
      value: [VALUE],
    },
  ],
  [
    "%",
    {
      subdomain: [SUBDOMAIN],
      label: [LABEL],
      label1035: [LABEL_1035],
      path: ["may not contain '%'"],
      key: [NAME_PART],
      value: [VALUE],
    },
  ],
  [
    "%/",
    {
      subdomain: [SUBDOMAIN],
      label: [LABEL],
      label1035: [LABEL_1035],
      path: ["may not contain '/'", "may not contain '%'"],
      key: [PREFIX, "name part must be non-empty", NAME_PART],
      value: [VALUE],
    },
  ],
];

describe("names", () => {
  test.each(NAMES)("%j violates the same rules as in Kubernetes", (name, rules) => {
    expect<Rules>({
      subdomain: dnsSubdomainErrors(name),
      label: dnsLabelErrors(name),
      label1035: dns1035LabelErrors(name),
      path: pathSegmentErrors(name),
      key: qualifiedNameErrors(name),
      value: labelValueErrors(name),
    }).toEqual(rules);
  });

  test("names of several megabytes are rejected for their length only", () => {
    for (const name of ["a".repeat(3_000_000), "a.".repeat(1_500_000), `${"a-".repeat(1_500_000)}!`]) {
      expect(dnsSubdomainErrors(name)).toEqual(["must be no more than 253 characters"]);
      expect(labelValueErrors(name)).toEqual(["must be no more than 63 bytes"]);
      expect(qualifiedNameErrors(name)).toEqual(["name part must be no more than 63 bytes"]);
    }
  });
});

describe("generateName", () => {
  const first = { float: () => 0, bytes: (length: number) => new Uint8Array(length) };
  const last = { ...first, float: () => 1 - Number.EPSILON };

  test("adds five characters that cannot spell words", () => {
    expect(generateName("web-", first)).toBe("web-bbbbb");
    expect(generateName("web-", last)).toBe("web-99999");
    expect(generateName("", first)).toBe("bbbbb");
  });

  test("truncates the base so that the name is a valid label", () => {
    expect(generateName("x".repeat(58), first)).toBe(`${"x".repeat(58)}bbbbb`);
    expect(generateName("x".repeat(200), first)).toBe(`${"x".repeat(58)}bbbbb`);
  });
});
