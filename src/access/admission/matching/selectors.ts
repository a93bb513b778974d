/** Evaluates the object and namespace selectors of webhooks and policies. */
import { goQuote } from "../../../meta/go-quote.ts";
import type { GroupResource } from "../../../meta/group-version.ts";
import { isJsonObject, objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { labelValueErrors } from "../../../meta/names.ts";
import type { ObjectReader } from "../../../meta/object-table.ts";
import { notFound, StatusError } from "../../../meta/status-error.ts";
import type { Attributes } from "../admission.ts";

/** A parsed metav1.LabelSelector. */
export type Selector =
  | { readonly kind: "everything" }
  | { readonly kind: "some"; readonly requirements: readonly Requirement[] }
  /** An invalid selector. The store may contain selectors that were written before validation rejected them. */
  | { readonly kind: "unreadable"; readonly why: string };

type Operator = "In" | "NotIn" | "Exists" | "DoesNotExist";

interface Requirement {
  readonly key: string;
  readonly operator: Operator;
  readonly values: ReadonlySet<string>;
}

/** Whether the selector matches; a StatusError if it cannot be evaluated. */
type Selected = boolean | StatusError;

type SelectorSubject = Pick<Attributes, "operation" | "namespace" | "resource" | "subresource" | "object" | "existing">;

const NAMESPACES: GroupResource = { group: "", resource: "namespaces" };
const OPERATORS: ReadonlySet<string> = new Set<Operator>(["In", "NotIn", "Exists", "DoesNotExist"]);

/** An absent selector, as in an object that was not defaulted, matches everything. */
export function readSelector(parent: JsonObject, key: string): Selector {
  const selector = objectAt(parent, key);
  const requirements: Requirement[] = [];
  for (const [label, value] of Object.entries(objectAt(selector, "matchLabels")))
    if (typeof value === "string") requirements.push({ key: label, operator: "In", values: new Set([value]) });
  for (const expression of objectsAt(selector, "matchExpressions")) {
    const operator = stringAt(expression, "operator");
    if (!isOperator(operator))
      return { kind: "unreadable", why: `${goQuote(operator)} is not a valid label selector operator` };
    requirements.push({ key: stringAt(expression, "key"), operator, values: new Set(stringsAt(expression, "values")) });
  }
  for (const requirement of requirements) {
    const why = valueProblem(requirement);
    if (why !== undefined) return { kind: "unreadable", why };
  }
  return requirements.length === 0 ? { kind: "everything" } : { kind: "some", requirements };
}

export function matchesLabels(selector: Selector, labels: JsonObject): boolean {
  if (selector.kind !== "some") return selector.kind === "everything";
  return selector.requirements.every((requirement) => isMet(requirement, labels));
}

/** Matches if the new or the old object has matching labels. */
export function objectSelected(selector: Selector, { object, existing }: SelectorSubject): Selected {
  if (selector.kind === "everything") return true;
  if (selector.kind === "unreadable") return internalError(selector.why);
  return [object, existing].some((each) => {
    // CONNECT options have no labels, so they do not match even DoesNotExist.
    const metadata = each?.["metadata"];
    return isJsonObject(metadata) && matchesLabels(selector, objectAt(metadata, "labels"));
  });
}

/**
 * Matches the labels of the object's namespace, or the object's own labels if it is a Namespace. Other cluster-scoped
 * objects always match.
 */
export async function namespaceSelected(
  selector: Selector,
  attributes: SelectorSubject,
  objects: Pick<ObjectReader, "get" | "newest">,
): Promise<Selected> {
  const { namespace, resource } = attributes;
  if (namespace === "" && resource !== NAMESPACES.resource) return true;
  if (selector.kind === "everything") return true;
  if (selector.kind === "unreadable") return internalError(selector.why);
  const found = writtenNamespace(attributes) ?? (await readNamespace(objects, namespace));
  if (found === undefined) return notFound(NAMESPACES, namespace);
  return matchesLabels(selector, objectAt(objectAt(found, "metadata"), "labels"));
}

/** Reads the namespace from the cache, and from the store if it is not cached. */
export async function readNamespace(
  objects: Pick<ObjectReader, "get" | "newest">,
  name: string,
): Promise<JsonObject | undefined> {
  return objects.get(NAMESPACES, "", name) ?? (name === "" ? undefined : await objects.newest(NAMESPACES, "", name));
}

function writtenNamespace({ operation, resource, subresource, object }: SelectorSubject): JsonObject | undefined {
  const isWritten = operation === "CREATE" || operation === "UPDATE";
  return isWritten && resource === NAMESPACES.resource && subresource === "" ? object : undefined;
}

function isOperator(text: string): text is Operator {
  return OPERATORS.has(text);
}

function valueProblem({ key, values }: Requirement): string | undefined {
  let index = 0;
  for (const value of values) {
    const errors = labelValueErrors(value);
    if (errors.length > 0)
      return `values[${index}][${key}]: Invalid value: ${JSON.stringify(value)}: ${errors.join("; ")}`;
    index++;
  }
  return undefined;
}

function isMet({ key, operator, values }: Requirement, labels: JsonObject): boolean {
  const label = Object.hasOwn(labels, key) ? labels[key] : undefined;
  const isListed = typeof label === "string" && values.has(label);
  switch (operator) {
    case "In":
      return isListed;
    case "NotIn":
      return !isListed;
    case "Exists":
      return label !== undefined;
    case "DoesNotExist":
      return label === undefined;
  }
}

function internalError(why: string): StatusError {
  return new StatusError("InternalError", `Internal error occurred: ${why}`, {
    details: { causes: [{ message: why }] },
  });
}
