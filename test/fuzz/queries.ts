/** Generates query parameters and selectors: most are as clients write them, some are hostile. */
import type { Dice, Weighted } from "./dice.ts";
import { hostileString, longString } from "./hostile-values.ts";
import type { Target } from "./targets.ts";

export type Parameter = readonly [name: string, value: string];

export function queryText(parameters: readonly Parameter[], dice: Dice): string {
  if (parameters.length === 0) return "";
  const parts = parameters.map(([name, value]) => `${name}=${dice.chance(0.97) ? encoded(value) : rawText(value)}`);
  return `?${parts.join("&")}`;
}

/** Encodes text for a URL; replaces lone surrogates, which UTF-8 cannot encode. */
function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

/** Text that can arrive over a socket: ASCII without spaces and control characters. */
function rawText(text: string): string {
  return text.replaceAll(/[^\x21-\x7e]|#/g, "%");
}

const TRUTHS: readonly string[] = ["true", "false", "1", "0", "", "True", "yes", "2"];
const COUNTS: readonly string[] = [
  ..."0 1 2 500 -1 1.5 1e3 abc 2147483648 9223372036854775807 9223372036854775808 -9223372036854775809 +1 0x10 01".split(
    " ",
  ),
  "",
  " 1",
];

type Draw = (dice: Dice, target: Target) => Parameter;

const WRITE_PARAMETERS: Weighted<Draw> = [
  [
    3,
    (dice) => [
      "fieldManager",
      dice.weighted<string>([
        [3, "fuzz"],
        [1, hostileString(dice)],
        [1, longString(dice)],
      ]),
    ],
  ],
  [3, (dice) => ["fieldValidation", dice.pick(["Strict", "Warn", "Ignore", "strict", "", "X"])]],
  [1, (dice) => ["pretty", dice.pick(TRUTHS)]],
  [1, (dice) => ["force", dice.pick(TRUTHS)]],
  [1, (dice) => ["timeout", dice.pick(["1s", "0s", "-1s", "1h", "x", "99999999999h", ""])]],
  [1, (dice) => ["dryRun", dice.pick(["all", "None", "", "All,All", "true"])]],
  [1, (dice) => ["resourceVersion", dice.pick(COUNTS)]],
  [1, (dice) => [hostileString(dice).replaceAll(/[^a-z]/gi, "") || "x", hostileString(dice)]],
];

export function writeParameters(dice: Dice, target: Target): Parameter[] {
  return dice.chance(0.7) ? [] : several(WRITE_PARAMETERS, dice, target);
}

const READ_PARAMETERS: Weighted<Draw> = [
  [6, (dice) => ["labelSelector", labelSelector(dice)]],
  [6, (dice, target) => ["fieldSelector", fieldSelector(dice, target)]],
  [3, (dice) => ["limit", dice.pick(COUNTS)]],
  [2, (dice) => ["continue", continueToken(dice)]],
  [3, (dice) => ["resourceVersion", dice.pick(COUNTS)]],
  [2, (dice) => ["resourceVersionMatch", dice.pick(["Exact", "NotOlderThan", "", "exact", "X"])]],
  [2, (dice) => ["watch", dice.pick(TRUTHS)]],
  [1, (dice) => ["allowWatchBookmarks", dice.pick(TRUTHS)]],
  [1, (dice) => ["sendInitialEvents", dice.pick(TRUTHS)]],
  [2, (dice) => ["timeoutSeconds", dice.pick(COUNTS)]],
  [1, (dice) => ["timeout", dice.pick(["1s", "0s", "-1s", "x"])]],
  [1, (dice) => ["pretty", dice.pick(TRUTHS)]],
  [1, (dice) => ["includeObject", dice.pick(["None", "Metadata", "Object", "x"])]],
  [1, (dice) => ["shardSelector", hostileString(dice)]],
];

export function readParameters(dice: Dice, target: Target): Parameter[] {
  return several(READ_PARAMETERS, dice, target);
}

const DELETE_PARAMETERS: Weighted<Draw> = [
  [3, (dice) => ["gracePeriodSeconds", dice.pick(COUNTS)]],
  [3, (dice) => ["propagationPolicy", dice.pick(["Background", "Foreground", "Orphan", "", "X"])]],
  [2, (dice) => ["orphanDependents", dice.pick(TRUTHS)]],
  [1, (dice) => ["ignoreStoreReadErrorWithClusterBreakingPotential", dice.pick(TRUTHS)]],
  [2, (dice) => ["labelSelector", labelSelector(dice)]],
  [2, (dice, target) => ["fieldSelector", fieldSelector(dice, target)]],
  [1, (dice) => ["preconditions.uid", hostileString(dice)]],
];

export function deleteParameters(dice: Dice, target: Target): Parameter[] {
  return dice.chance(0.5) ? [] : several(DELETE_PARAMETERS, dice, target);
}

const CONNECT_PARAMETERS: Weighted<Draw> = [
  [2, (dice) => ["container", dice.pick(["main", "other", "", hostileString(dice)])]],
  [1, (dice) => ["follow", dice.pick(TRUTHS)]],
  [1, (dice) => ["tailLines", dice.pick(COUNTS)]],
  [1, (dice) => ["limitBytes", dice.pick(COUNTS)]],
  [1, (dice) => ["sinceSeconds", dice.pick(COUNTS)]],
  [1, (dice) => ["sinceTime", hostileString(dice)]],
  [1, (dice) => ["command", hostileString(dice)]],
  [1, (dice) => ["stdin", dice.pick(TRUTHS)]],
  [1, (dice) => ["ports", dice.pick(COUNTS)]],
  [1, (dice) => ["path", hostileString(dice)]],
];

export function connectParameters(dice: Dice, target: Target): Parameter[] {
  return several(CONNECT_PARAMETERS, dice, target);
}

function several(draws: Weighted<Draw>, dice: Dice, target: Target): Parameter[] {
  return Array.from({ length: dice.pick([1, 1, 2, 3]) }, () => dice.weighted(draws)(dice, target));
}

const LABEL_KEYS: readonly string[] = ["app", "tier", "example.com/key", "a", "A.b/c_d", "/a", "a/", "-a", "__proto__"];
const LABEL_VALUES: readonly string[] = ["web", "a", "", "b-c", "-", "a b", "é"];

export function labelSelector(dice: Dice): string {
  const terms = Array.from({ length: dice.pick([1, 1, 2, 3, 50]) }, () => labelTerm(dice));
  const text = terms.join(dice.pick([",", ", ", ",,", " "]));
  return dice.chance(0.8) ? text : damagedSelector(text, dice);
}

function labelTerm(dice: Dice): string {
  const key = dice.pick(LABEL_KEYS);
  const value = dice.pick(LABEL_VALUES);
  return dice.weighted<string>([
    [4, `${key}${dice.pick(["=", "==", "!="])}${value}`],
    [2, key],
    [2, `!${key}`],
    [3, `${key} ${dice.pick(["in", "notin", "IN"])} (${value},${dice.pick(LABEL_VALUES)})`],
    [1, `${key} ${dice.pick(["gt", "lt", ">", "<"])} ${dice.pick(COUNTS)}`],
    [1, hostileString(dice)],
  ]);
}

export function fieldSelector(dice: Dice, { fieldSelectors }: Target): string {
  const terms = Array.from({ length: dice.pick([1, 1, 2, 30]) }, () => {
    const field = dice.chance(0.8) ? dice.pick([...fieldSelectors, "metadata.name"]) : hostileString(dice);
    const value = dice.pick(["f1", "default", "", "a\\,b", "a\\=b", "\\", "true", hostileString(dice)]);
    return `${field}${dice.pick(["=", "==", "!=", "", "in", ">"])}${value}`;
  });
  const text = terms.join(",");
  return dice.chance(0.85) ? text : damagedSelector(text, dice);
}

function damagedSelector(text: string, dice: Dice): string {
  const at = dice.int(text.length + 1);
  return (
    text.slice(0, at) + dice.pick(["", "(", ")", ",", "=", "!", "\\", " ", "\u0000", "((((", "in"]) + text.slice(at + 1)
  );
}

function continueToken(dice: Dice): string {
  const tokens: readonly unknown[] = [
    { v: "meta.k8s.io/v1", rv: 1, start: "f1" },
    { v: "meta.k8s.io/v1", rv: -1, start: "f1\u0000" },
    { v: "meta.k8s.io/v1", rv: 9_007_199_254_740_992, start: "/" },
    { v: "meta.k8s.io/v1", rv: "1", start: 5 },
    { v: "meta.k8s.io/v1", rv: 1, start: "../../secrets/" },
    { v: "meta.k8s.io/v2", rv: 1 },
    null,
    [],
    "a",
  ];
  return dice.chance(0.7)
    ? Buffer.from(JSON.stringify(dice.pick(tokens))).toString(dice.pick(["base64", "base64url"]))
    : hostileString(dice);
}
