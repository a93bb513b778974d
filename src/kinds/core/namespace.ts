/** Namespaces: held by finalizers of their own until they are empty. */
import { objectAt, stringAt, stringsAt, type JsonObject } from "../../meta/json.ts";
import type { Kind } from "../kind.ts";

export const NAMESPACE: Kind = {
  setDefaults: setNameLabel,
  prepareCreate(namespace) {
    const finalizers = stringsAt(objectAt(namespace, "spec"), "finalizers");
    namespace["spec"] = {
      ...objectAt(namespace, "spec"),
      finalizers: finalizers.includes("kubernetes") ? finalizers : [...finalizers, "kubernetes"],
    };
    namespace["status"] = { phase: "Active" };
  },
  prepareUpdate(namespace, existing) {
    namespace["spec"] = { ...objectAt(namespace, "spec"), finalizers: objectAt(existing, "spec")["finalizers"] };
  },
};

/** Selectors find a namespace by its name. */
function setNameLabel(namespace: JsonObject): void {
  const metadata = objectAt(namespace, "metadata");
  const name = stringAt(metadata, "name");
  if (name === "") return;
  namespace["metadata"] = {
    ...metadata,
    labels: { ...objectAt(metadata, "labels"), "kubernetes.io/metadata.name": name },
  };
}
