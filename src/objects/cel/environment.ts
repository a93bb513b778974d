/** The CEL environment of a release: its functions, types and macros. */
import type { Environment } from "./check/scope.ts";
import { ADDRESSES } from "./library/addresses.ts";
import { AUTHORIZATION, AUTHORIZATION_SELECTORS } from "./library/authorization.ts";
import { CONVERSIONS } from "./library/conversions.ts";
import type { Overload } from "./library/function.ts";
import { KUBERNETES_LISTS, LISTS } from "./library/lists.ts";
import { NAMED_FORMATS } from "./library/named-formats.ts";
import { OPERATOR_OVERLOADS } from "./library/operators.ts";
import { MAP_INSERTS, OPTIONALS } from "./library/optionals.ts";
import { QUANTITIES } from "./library/quantities.ts";
import { regexLibrary } from "./library/regex.ts";
import { SEMVERS } from "./library/semvers.ts";
import { SETS } from "./library/sets.ts";
import { STRING_TESTS, STRINGS } from "./library/strings.ts";
import { timeLibrary } from "./library/timestamps.ts";
import { URLS } from "./library/urls.ts";
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  NULL,
  opaque,
  STRING,
  TIMESTAMP,
  type Type,
  UINT,
} from "./types/type.ts";

const TYPE_NAMES: ReadonlyMap<string, Type> = new Map<string, Type>([
  ["bool", BOOL],
  ["bytes", BYTES],
  ["double", DOUBLE],
  ["google.protobuf.Duration", DURATION],
  ["google.protobuf.Timestamp", TIMESTAMP],
  ["int", INT],
  ["list", listOf(DYN)],
  ["map", mapOf(DYN, DYN)],
  ["net.CIDR", opaque("net.CIDR")],
  ["net.IP", opaque("net.IP")],
  ["null_type", NULL],
  ["string", STRING],
  ["uint", UINT],
]);

function byName(overloads: readonly Overload[]): Map<string, Overload[]> {
  const functions = new Map<string, Overload[]>();
  for (const one of overloads) {
    const known = functions.get(one.name);
    if (known === undefined) functions.set(one.name, [one]);
    else known.push(one);
  }
  return functions;
}

/** Gates of the CEL features that only some releases have. */
type CelGate =
  | "CELAuthorizerSelectors"
  | "CELFormatLibrary"
  | "CELListsLibrary"
  | "CELSemverLibrary"
  | "CELTwoVariableComprehensions";

/** `gates`: the gates of the release. Features whose gate is off are undeclared. */
export function celEnvironment(gates: { isOn(gate: CelGate): boolean }): Environment {
  const hasLists = gates.isOn("CELListsLibrary");
  const overloads = [
    ...OPERATOR_OVERLOADS,
    ...CONVERSIONS,
    ...STRING_TESTS,
    ...OPTIONALS,
    ...MAP_INSERTS,
    ...timeLibrary(),
    ...regexLibrary(),
    ...KUBERNETES_LISTS,
    ...STRINGS,
    ...SETS,
    ...URLS,
    ...QUANTITIES,
    ...ADDRESSES,
    ...AUTHORIZATION,
    ...(gates.isOn("CELFormatLibrary") ? NAMED_FORMATS : []),
    ...(gates.isOn("CELAuthorizerSelectors") ? AUTHORIZATION_SELECTORS : []),
    ...(gates.isOn("CELSemverLibrary") ? SEMVERS : []),
    ...(hasLists ? LISTS : []),
  ];
  return {
    functions: byName(overloads),
    typeNames: TYPE_NAMES,
    hasTwoVariableMacros: gates.isOn("CELTwoVariableComprehensions"),
    hasSortBy: hasLists,
  };
}
