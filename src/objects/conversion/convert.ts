/** Converts built-in objects and field labels between API versions of a kind, through the hub shape of the kind. */
import { formatGroupVersion, type GroupVersion } from "../../meta/group-version.ts";
import { AUTOSCALING_SHAPES } from "./autoscaling.ts";
import { CRD_SHAPES } from "./crd.ts";
import { DEPLOYMENT_SHAPES } from "./deployment.ts";
import { DISRUPTION_BUDGET_SHAPES } from "./disruption-budget.ts";
import { ENDPOINT_SLICE_SHAPES } from "./endpointslice.ts";
import { EVENT_SHAPES, fromCoreEventLabel, toCoreEventLabel } from "./events.ts";
import { FLOWCONTROL_SHAPES } from "./flowcontrol.ts";
import { INGRESS_SHAPES } from "./ingress.ts";
import { RBAC_SHAPES } from "./rbac.ts";
import { RESOURCE_SHAPES } from "./resource.ts";
import { RUNTIME_CLASS_SHAPES } from "./runtime-class.ts";
import { SAME_SHAPES } from "./same-shapes.ts";
import type { JsonObject } from "../../meta/json.ts";
import type { KindShapes, Spoke } from "./shapes.ts";

const ALL_SHAPES: readonly KindShapes[] = [
  ...SAME_SHAPES,
  ...AUTOSCALING_SHAPES,
  ...CRD_SHAPES,
  ...DEPLOYMENT_SHAPES,
  ...DISRUPTION_BUDGET_SHAPES,
  ...ENDPOINT_SLICE_SHAPES,
  ...EVENT_SHAPES,
  ...FLOWCONTROL_SHAPES,
  ...INGRESS_SHAPES,
  ...RBAC_SHAPES,
  ...RESOURCE_SHAPES,
  ...RUNTIME_CLASS_SHAPES,
];

interface Place {
  readonly shapes: KindShapes;
  /** The shape of the version; undefined if it is the hub shape. */
  readonly spoke: Spoke | undefined;
}

/** Keyed by kind and apiVersion. */
const PLACES: ReadonlyMap<string, Place> = new Map(ALL_SHAPES.flatMap(placesOf));

function placesOf(shapes: KindShapes): readonly (readonly [string, Place])[] {
  const inHub = shapes.hub.map((version) => ({ version, spoke: undefined }));
  const inSpokes = shapes.spokes.flatMap((spoke) => spoke.versions.map((version) => ({ version, spoke })));
  return shapes.kinds.flatMap((kind) =>
    [...inHub, ...inSpokes].map(({ version, spoke }) => [placeKey(kind, version), { shapes, spoke }] as const),
  );
}

function placeKey(kind: string, apiVersion: string): string {
  return `${kind} ${apiVersion}`;
}

/** Whether objects of the kind can be converted between the versions. */
export function isConvertible(kind: string, from: GroupVersion, to: GroupVersion): boolean {
  return isSameVersion(from, to) || findRoute(kind, from, to) !== undefined;
}

/**
 * Whether objects of the kind have the same JSON shape in both versions, so that conversion changes only the
 * apiVersion.
 */
export function isSameShape(kind: string, from: GroupVersion, to: GroupVersion): boolean {
  if (isSameVersion(from, to)) return true;
  const route = findRoute(kind, from, to);
  return route !== undefined && route.from === route.to;
}

/**
 * Converts a built-in object. The argument is not modified; unchanged parts are shared with the result. Throws if there
 * is no conversion between the two versions.
 */
export function convertObject(object: JsonObject, from: GroupVersion, to: GroupVersion): JsonObject {
  const kind = object["kind"];
  if (typeof kind !== "string") throw new Error("An object without a kind cannot be converted.");
  const apiVersion = formatGroupVersion(to);
  if (isSameShape(kind, from, to)) return object["apiVersion"] === apiVersion ? object : { ...object, apiVersion };
  const route = findRoute(kind, from, to);
  if (route === undefined) {
    throw new Error(`${kind} cannot be converted from ${formatGroupVersion(from)} to ${apiVersion}.`);
  }
  const inHubShape = route.from === undefined ? object : route.from.toHub(object);
  const converted = route.to === undefined ? inHubShape : route.to.fromHub(inHubShape);
  return { ...converted, apiVersion };
}

/** The name in version `to` of a selectable field of version `from`. Only fields of events have different names. */
export function convertFieldLabel(
  field: { readonly kind: string; readonly label: string },
  from: GroupVersion,
  to: GroupVersion,
): string {
  if (field.kind !== "Event" || from.group === to.group) return field.label;
  return to.group === "" ? toCoreEventLabel(field.label) : fromCoreEventLabel(field.label);
}

function isSameVersion(from: GroupVersion, to: GroupVersion): boolean {
  return from.group === to.group && from.version === to.version;
}

interface Route {
  readonly from: Spoke | undefined;
  readonly to: Spoke | undefined;
}

function findRoute(kind: string, from: GroupVersion, to: GroupVersion): Route | undefined {
  const start = PLACES.get(placeKey(kind, formatGroupVersion(from)));
  const end = PLACES.get(placeKey(kind, formatGroupVersion(to)));
  if (start === undefined || end === undefined || start.shapes !== end.shapes) return undefined;
  return { from: start.spoke, to: end.spoke };
}
