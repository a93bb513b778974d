/**
 * Creates the CRDs of a user's cluster before the clients start, and waits until the servers serve them. A CRD that the
 * servers reject must not end the rehearsal of everything else.
 */
import { createClient, type Client } from "../../client/client.ts";
import { must } from "../../base/assert.ts";
import { objectAt, objectsAt, parseJsonObject, stringAt, type JsonObject } from "../../meta/json.ts";
import { StatusError } from "../../meta/status-error.ts";
import type { RehearsalStage } from "./stage.ts";

const PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const PROBLEM_MAX = 300;
const ESTABLISHED_SECONDS_MAX = 60;

/** Returns why a CRD is not served, by its name. */
export async function createDefinitions(
  stage: RehearsalStage,
  crds: readonly JsonObject[],
): Promise<ReadonlyMap<string, string>> {
  const problems = new Map<string, string>();
  if (crds.length === 0) return problems;
  const random = stage.randomFor("definitions");
  const transport = must(stage.connect(random, undefined), "all servers are ready");
  const client = createClient({ transport, clock: stage.clock, random });
  const waiting = new Set<string>();
  for (const crd of crds) {
    const problem = await create(stage, client, crd);
    if (problem === undefined) waiting.add(nameOf(crd));
    else problems.set(nameOf(crd), `the CRD is rejected: ${problem.slice(0, PROBLEM_MAX)}`);
  }
  for (let seconds = 0; waiting.size > 0 && seconds < ESTABLISHED_SECONDS_MAX; seconds++) {
    await stage.pass(1_000);
    for (const name of waiting) if (await isEstablished(stage, client, name)) waiting.delete(name);
  }
  for (const name of waiting) problems.set(name, "the CRD is not established");
  return problems;
}

/** Returns the message of the rejection, if there is one. */
async function create(stage: RehearsalStage, client: Client, crd: JsonObject): Promise<string | undefined> {
  try {
    await stage.until(client.request({ method: "POST", target: PATH, body: crd }));
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof StatusError)) throw thrown;
    return thrown.message;
  }
}

async function isEstablished(stage: RehearsalStage, client: Client, name: string): Promise<boolean> {
  const target = `${PATH}/${encodeURIComponent(name)}`;
  const { text } = await stage.until(client.request({ method: "GET", target }));
  const conditions = objectsAt(objectAt(parseJsonObject(text) ?? {}, "status"), "conditions");
  return conditions.some(({ type, status }) => type === "Established" && status === "True");
}

function nameOf(crd: JsonObject): string {
  return stringAt(objectAt(crd, "metadata"), "name");
}
