/** Encodes an object as clients do (JSON, YAML or protobuf), intact or damaged. */
import { dump } from "js-yaml";
import { protobufTables } from "../../src/objects/catalog/protobuf-tables.ts";
import { isJsonObject, objectAt } from "../../src/meta/json.ts";
import { encodeProtobufObject } from "../testing/objects/protobuf/encode.ts";
import type { Dice, Weighted } from "./dice.ts";
import { toJsonText, toPlainJson } from "./json-text.ts";

export interface Body {
  readonly bytes: Buffer | string;
  readonly contentType: string;
  /** True if the body is undamaged and holds the generated object. */
  readonly isWhole: boolean;
}

const JSON_TYPE = "application/json";
const YAML_TYPE = "application/yaml";
const PROTOBUF_TYPE = "application/vnd.kubernetes.protobuf";
/**
 * Maximum length of the JSON text of bodies that are damaged or sent in another encoding. Encoding a longer body would
 * take the fuzzer longer than the server takes to decode it.
 */
const OTHER_ENCODINGS_CHARACTERS_MAX = 4_000;
/** More than a server accepts; even longer bodies would only take time. */
const CHARACTERS_MAX = 4_000_000;

export function jsonBody(value: unknown): Body {
  const text = toJsonText(value);
  const isWhole = text.length <= CHARACTERS_MAX;
  return { bytes: isWhole ? text : text.slice(0, CHARACTERS_MAX), contentType: JSON_TYPE, isWhole };
}

export function randomBody(value: unknown, dice: Dice): Body {
  const json = jsonBody(value);
  if (json.bytes.length > OTHER_ENCODINGS_CHARACTERS_MAX) return json;
  return dice.weighted(ENCODINGS)(json, value, dice);
}

type Encode = (json: Body, value: unknown, dice: Dice) => Body;

const ENCODINGS: Weighted<Encode> = [
  [80, (json) => json],
  [6, (_, value, dice) => yamlBody(value, dice)],
  [6, (json, value, dice) => protobufBody(json, value, dice)],
  [8, (json, _, dice) => ({ bytes: damaged(json.bytes as string, dice), contentType: JSON_TYPE, isWhole: false })],
];

function yamlBody(value: unknown, dice: Dice): Body {
  const text = dump(toPlainJson(value), { flowLevel: dice.pick([-1, -1, 0, 2]) });
  if (dice.chance(0.5)) return { bytes: text, contentType: YAML_TYPE, isWhole: true };
  const bytes = dice.chance(0.5) ? damaged(text, dice) : dice.pick(YAML_TRICKS)(text);
  return { bytes, contentType: YAML_TYPE, isWhole: false };
}

const YAML_TRICKS: readonly ((text: string) => string)[] = [
  (text) => `x: &a [1, 1, 1]\n${text}`,
  (text) => `${text}\nx: *nobody\n`,
  (text) => `--- \n${text}\n---\n${text}`,
  (text) => `%YAML 1.1\n---\n${text}`,
  (text) => `${text}\n<<: {kind: Other}\n`,
  (text) => `${text}\nmetadata: &m {annotations: *m}\n`,
  (text) => `${text}\n? [a, b]\n: c\n`,
  (text) => `${text}\nx: !!binary AAAA\ny: !!float 1\nz: !!null x\nw: !unknown x\n`,
  (text) => `${text}\nx: .inf\ny: .nan\nz: 0o7\nw: 0x1f\nv: 1_000\nu: 12:30:45\nt: 2001-12-14\ns: ~\nr: yes\n`,
  () => bomb(9),
  (text) => text.replaceAll("\n", "\r\n"),
  (text) => text.replaceAll("  ", "\t"),
  (text) => `${text}\n${"- ".repeat(2_000)}a\n`,
  (text) => `${text}\nx: ${"[".repeat(5_000)}\n`,
];

/** A YAML document whose aliases multiply the items by ten on each level: nine levels expand to a billion items. */
function bomb(levels: number): string {
  const lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]"];
  for (let level = 1; level < levels; level++)
    lines.push(`a${level}: &a${level} [${Array.from({ length: 10 }, () => `*a${level - 1}`).join(", ")}]`);
  return `apiVersion: v1\nkind: ConfigMap\n${lines.join("\n")}\n`;
}

function protobufBody(json: Body, value: unknown, dice: Dice): Body {
  try {
    const plain = toPlainJson(value);
    const object = isJsonObject(plain) ? plain : {};
    // Placeholders are removed, because they can be replaced only in bodies that are text.
    const { resourceVersion: _version, uid: _uid, ...metadata } = objectAt(object, "metadata");
    const bytes = encodeProtobufObject({ ...object, metadata }, protobufTables());
    if (dice.chance(0.4)) return { bytes, contentType: PROTOBUF_TYPE, isWhole: true };
    return { bytes: damagedBytes(bytes, dice), contentType: PROTOBUF_TYPE, isWhole: false };
  } catch {
    // The encoder supports only values of the right types, and no kinds that are newer than its tables; other objects
    // are sent as JSON.
    return json;
  }
}

function damaged(text: string, dice: Dice): Buffer | string {
  const at = dice.int(text.length + 1);
  const [before, after] = [text.slice(0, at), text.slice(at)];
  return dice.weighted<() => Buffer | string>([
    [4, () => before],
    [2, () => before + dice.pick(["{", "}", "[", "]", ",", ":", '"', "\\", "\u0000", "\\u", "\\ud800", "0"]) + after],
    [2, () => before + after.slice(1)],
    [1, () => after],
    [1, () => "\ufeff" + text],
    [1, () => text + text],
    [1, () => `${text} x`],
    [1, () => ""],
    [
      1,
      () =>
        dice.pick(["null", "[]", "0", '""', "true", "NaN", "{", "{}{}", "\n", '{"a":1e}', "/**/{}", "{a:1}", "'a'"]),
    ],
    [3, () => damagedBytes(Buffer.from(text), dice)],
  ])();
}

/** Truncates the bytes, or flips and replaces bytes at random positions, so that text may become invalid UTF-8. */
function damagedBytes(bytes: Buffer, dice: Dice): Buffer {
  const copy = Buffer.from(bytes);
  if (copy.length === 0) return Buffer.from([dice.int(256)]);
  if (dice.chance(0.2)) return copy.subarray(0, dice.int(copy.length));
  const count = dice.pick([1, 1, 2, 8]);
  for (let time = 0; time < count; time++) {
    const at = dice.int(copy.length);
    copy[at] = dice.chance(0.5) ? copy[at]! ^ (1 << dice.int(8)) : dice.pick([0, 0x7f, 0x80, 0xc0, 0xed, 0xff]);
  }
  return copy;
}
