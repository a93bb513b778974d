/**
 * Groups operations by path. Parameters that all operations of a path have are written once for the path, as
 * kube-apiserver does, which makes the documents and the clients generated from them smaller.
 */
import type { JsonObject } from "../../../meta/json.ts";
import { compareNames } from "../order.ts";
import type { OpenApiOperation, Parameter } from "./operation.ts";

interface PathItem {
  readonly path: string;
  readonly parameters: readonly Parameter[];
  /** The operations with the parameters that not all operations of the path have. */
  readonly operations: readonly OpenApiOperation[];
}

/** How a version of OpenAPI describes an operation and a parameter. */
interface Describe {
  operation(operation: OpenApiOperation): JsonObject;
  parameter(parameter: Parameter): JsonObject;
}

/** Describes the operations path by path, sorted, so that a caller can do something else in between. */
export function* describePaths(
  operations: readonly OpenApiOperation[],
  describe: Describe,
): Generator<readonly [path: string, item: JsonObject]> {
  for (const item of pathItems(operations)) {
    const members: JsonObject = {};
    for (const one of item.operations) members[one.method] = describe.operation(one);
    const parameters = item.parameters.map((parameter) => describe.parameter(parameter));
    yield [item.path, { ...members, ...(parameters.length === 0 ? {} : { parameters }) }];
  }
}

function pathItems(operations: readonly OpenApiOperation[]): PathItem[] {
  return [...Map.groupBy(operations, ({ path }) => path)]
    .sort(([left], [right]) => compareNames(left, right))
    .map(([path, ofPath]) => {
      const [first, ...others] = ofPath;
      const common = (first?.parameters ?? []).filter((parameter) =>
        others.every(({ parameters }) => parameters.some((other) => isSame(parameter, other))),
      );
      const withoutCommon = ofPath.map((one) => ({
        ...one,
        parameters: sorted(one.parameters.filter((own) => !common.some((other) => isSame(own, other)))),
      }));
      return { path, parameters: sorted(common), operations: withoutCommon };
    });
}

function isSame(one: Parameter, other: Parameter): boolean {
  return one.name === other.name && one.in === other.in;
}

function sorted(parameters: readonly Parameter[]): Parameter[] {
  return parameters.toSorted((left, right) => compareNames(left.name, right.name) || compareNames(left.in, right.in));
}
