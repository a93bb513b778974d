/** Rows of disruption budgets, webhook configurations and admission policies. */
import type { JsonObject } from "../../meta/json.ts";
import {
  isSetAt,
  itemsAt,
  sizeAt,
  textAt,
  textMembers,
  textsAt,
  valueAt,
  type RowPrinter,
  type RowPrinters,
} from "./row.ts";

const policyBinding: RowPrinter = (object) => ({ ParamRef: paramReference(valueAt(object, "spec", "paramRef")) });
const webhookConfiguration: RowPrinter = (object) => ({ Webhooks: sizeAt(object, "webhooks") });

export const POLICY_PRINTERS: RowPrinters = {
  "policy/PodDisruptionBudget": (object) => ({
    "Min Available": intOrPercent(valueAt(object, "spec", "minAvailable")),
    "Max Unavailable": intOrPercent(valueAt(object, "spec", "maxUnavailable")),
  }),
  "admissionregistration.k8s.io/MutatingWebhookConfiguration": webhookConfiguration,
  "admissionregistration.k8s.io/ValidatingWebhookConfiguration": webhookConfiguration,
  "admissionregistration.k8s.io/ValidatingAdmissionPolicy": (object) => ({
    Validations: sizeAt(object, "spec", "validations"),
    ParamKind: paramKind(object),
  }),
  "admissionregistration.k8s.io/MutatingAdmissionPolicy": (object) => ({
    Mutations: sizeAt(object, "spec", "mutations"),
    ParamKind: paramKind(object),
  }),
  "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding": policyBinding,
  "admissionregistration.k8s.io/MutatingAdmissionPolicyBinding": policyBinding,
};

function intOrPercent(value: unknown): string {
  return typeof value === "number" || typeof value === "string" ? `${value}` : "N/A";
}

function paramKind(policy: JsonObject): string {
  const kind = valueAt(policy, "spec", "paramKind");
  return isSetAt(kind) ? `${textAt(kind, "apiVersion")}/${textAt(kind, "kind")}` : "<unset>";
}

function paramReference(reference: unknown): string {
  const name = textAt(reference, "name");
  // `*` instead of a namespace, because it is unknown here whether the parameters are cluster-scoped or in the
  // namespace of the request.
  if (name !== "") return `${textAt(reference, "namespace") || "*"}/${name}`;
  return isSetAt(reference, "selector") ? selectorStructure(valueAt(reference, "selector")) : "<unset>";
}

/** The selector as Go prints its struct, because kube-apiserver shows it in this form and not as a selector. */
function selectorStructure(selector: unknown): string {
  const labels = textMembers(valueAt(selector, "matchLabels"))
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, value]) => `${key}: ${value},`);
  const expressions = itemsAt(selector, "matchExpressions").map((expression) => {
    const values = textsAt(expression, "values").join(" ");
    const fields = `Key:${textAt(expression, "key")},Operator:${textAt(expression, "operator")},Values:[${values}],`;
    return `LabelSelectorRequirement{${fields}},`;
  });
  const matchLabels = `MatchLabels:map[string]string{${labels.join("")}}`;
  return `&LabelSelector{${matchLabels},MatchExpressions:[]LabelSelectorRequirement{${expressions.join("")}},}`;
}
