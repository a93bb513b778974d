/** Creates a table that parses each object of a cluster-scoped resource once. */
import { objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import type { ObjectTable } from "../../meta/object-table.ts";

/** Fills `values`. Objects that `read` cannot parse are ignored. */
export function objectMap<Value>(
  values: Map<string, Value>,
  read: (object: JsonObject) => Value | undefined,
  onChange: () => void,
): ObjectTable {
  const put = (object: JsonObject): void => {
    const name = stringAt(objectAt(object, "metadata"), "name");
    const value = read(object);
    if (value === undefined) values.delete(name);
    else values.set(name, value);
    onChange();
  };
  return {
    reset(objects) {
      values.clear();
      objects.forEach(put);
      onChange();
    },
    put,
    remove(_namespace, name) {
      if (values.delete(name)) onChange();
    },
  };
}
