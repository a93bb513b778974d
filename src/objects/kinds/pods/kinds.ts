/** Lists the kinds Pod and PodTemplate. */
import { jsonEquals, objectAt, type JsonObject } from "../../../meta/json.ts";
import type { Kind, KindContext, KindEntry } from "../kind.ts";
import { setPodDefaults } from "./pod-defaults.ts";
import { preparePodCreate, preparePodStatusUpdate } from "./pod-prepare.ts";
import { podTemplateErrors, setPodTemplateDefaults } from "./pod-template.ts";
import { podCreateErrors, podUpdateErrors } from "./rules/pod-rules.ts";
import { podStatusErrors } from "./rules/pod-status-rules.ts";
import { podTemplateWarnings, podWarnings } from "./warnings/pod-warnings.ts";

const POD: Kind = {
  setDefaults: setPodDefaults,
  prepareCreate: preparePodCreate,
  prepareStatusUpdate: preparePodStatusUpdate,
  createErrors: podCreateErrors,
  updateErrors: podUpdateErrors,
  statusUpdateErrors: podStatusErrors,
  // Only a create causes warnings, because mostly controllers and kubelets update pods, and they do not read warnings.
  warnings: (pod, existing, context) => (existing === undefined ? podWarnings(pod, context) : []),
};

const POD_TEMPLATE: Kind = {
  setDefaults: setPodTemplateDefaults,
  createErrors: templateErrors,
  updateErrors: (object, _existing, context) => templateErrors(object, context),
  warnings: (object, existing, context) =>
    existing !== undefined && jsonEquals(object["template"], existing["template"])
      ? []
      : podTemplateWarnings(objectAt(object, "template"), "template", context),
};

function templateErrors(object: JsonObject, context: KindContext): ReturnType<typeof podTemplateErrors> {
  return podTemplateErrors(objectAt(object, "template"), "template", context);
}

export const POD_KINDS: readonly KindEntry[] = [
  ["/Pod", POD],
  ["/PodTemplate", POD_TEMPLATE],
];
