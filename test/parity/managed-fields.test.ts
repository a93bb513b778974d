/**
 * Compares the managedFields that we compute for a write with recorded responses of a real kube-apiserver, if the
 * recordings are beside the repository. A response shows the object after admission and after the preparation by its
 * kind, but managedFields are computed before both. Therefore the fields that they add are listed here and removed
 * first.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openSchemas } from "../../src/objects/catalog/schema-source.ts";
import { cloneJson, objectAt, stringAt, type JsonObject } from "../../src/meta/json.ts";
import type { StructSchema } from "../../src/objects/schema.ts";
import { managerName, trackUpdate } from "../../src/objects/managed-fields/manager.ts";

const CASES = join(import.meta.dirname, "../../../shared/fidelity/cases");
const AREAS = ["crud", "kinds", "list", "patch", "workload", "crd"];
const TIME = "2026-01-01T00:00:00Z";

const SET_LATER: Readonly<Record<string, readonly string[]>> = {
  Namespace: ["finalizers"],
  Pod: ["preemptionPolicy", "priority", "tolerations"],
  Service: ["clusterIPs", "ipFamilies", "ipFamilyPolicy"],
};
const SUBRESOURCES = ["status", "scale"];
const CUSTOM: StructSchema = { name: "", fields: new Map(), mapType: undefined, preserveUnknown: true };

interface Step {
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly headers?: JsonObject;
    readonly body?: unknown;
  };
  readonly response: { readonly status: number; readonly body?: JsonObject };
}

interface Write {
  readonly title: string;
  readonly live: JsonObject | undefined;
  readonly step: Step;
  readonly body: JsonObject;
}

function readWrites(area: string): Write[] {
  const { cases } = JSON.parse(readFileSync(join(CASES, `${area}.json`), "utf8").replaceAll("<time>", TIME)) as {
    cases: { name: string; steps: Step[] }[];
  };
  return cases.flatMap(({ name, steps }) => writesOf(name, steps));
}

function writesOf(name: string, steps: readonly Step[]): Write[] {
  const seen = new Map<string, JsonObject>();
  const writes: Write[] = [];
  for (const [index, step] of steps.entries()) {
    const { status, body } = step.response;
    const object = body && objectAt(body, "metadata")["name"];
    if (body === undefined || object === undefined || status >= 300) continue;
    const id = `${stringAt(body, "kind")} ${String(object)}`;
    const live = seen.get(id);
    if (isTrackedWrite(step, live))
      writes.push({ title: `${name}#${index + 1} ${step.request.method} ${id}`, live, step, body });
    if (!step.request.path.includes("dryRun")) seen.set(id, body);
  }
  return writes;
}

function isTrackedWrite({ request, response }: Step, live: JsonObject | undefined): boolean {
  const { body } = response;
  const isApply = stringAt(request.headers ?? {}, "content-type").includes("apply");
  if (body === undefined || body["kind"] === "Scale" || isApply) return false;
  if (request.method === "POST") return objectAt(body, "metadata")["managedFields"] !== undefined;
  return (
    ["PUT", "PATCH"].includes(request.method) &&
    live !== undefined &&
    objectAt(live, "metadata")["managedFields"] !== undefined
  );
}

function tracked({ live, step, body }: Write): readonly JsonObject[] | undefined {
  const url = new URL(step.request.path, "http://server");
  const last = url.pathname.split("/").at(-1) ?? "";
  const subresource = SUBRESOURCES.includes(last) ? last : "";
  const apiVersion = stringAt(body, "apiVersion");
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  const schema = openSchemas("1.36").kind(group ?? "", version ?? "", stringAt(body, "kind"));
  const next = cloneJson(body);
  const metadata = objectAt(next, "metadata");
  const sent = objectAt(objectAt({ body: step.request.body }, "body"), "metadata")["managedFields"];
  metadata["managedFields"] = sent;
  if (live === undefined)
    for (const name of SET_LATER[stringAt(body, "kind")] ?? []) delete objectAt(next, "spec")[name];
  return trackUpdate({
    live,
    next,
    schema: schema ?? CUSTOM,
    absentFields: schema === undefined ? "none" : "zero",
    apiVersion,
    manager: managerName(
      url.searchParams.get("fieldManager") ?? undefined,
      stringAt(step.request.headers ?? {}, "user-agent"),
    ),
    subresource,
    time: TIME,
    resetFields: subresource === "status" ? [["spec"]] : [["status"]],
  });
}

/** Removes UIDs from the keys of fieldsV1: recordings replace UIDs elsewhere, but not there. */
function withoutUids(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null).replace(/(uid\\":\\")[^}]*(\\"})/g, "$1$2"));
}

describe.runIf(existsSync(CASES))("our managedFields (needs recordings beside the repository)", () => {
  const writes = existsSync(CASES) ? AREAS.flatMap(readWrites) : [];
  test("are compared with recorded writes", () => {
    expect(writes.length).toBeGreaterThan(40);
  });
  test.each(writes.map((write): [string, Write] => [write.title, write]))(
    "are those of the recorded response to %s",
    (_, write) => {
      expect(withoutUids(tracked(write))).toEqual(withoutUids(objectAt(write.body, "metadata")["managedFields"]));
    },
  );
});

if (!existsSync(CASES)) console.log("There are no recordings beside this repository: managedFields were not compared.");
