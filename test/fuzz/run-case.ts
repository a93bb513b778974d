/** Runs one case: creates the victim, sends the attack, and checks the invariants of the server's behavior. */
import { isJsonObject, jsonEquals, objectAt, stringAt, type JsonObject } from "../../src/meta/json.ts";
import { PROTOBUF_MEDIA_TYPE } from "../../src/objects/protobuf/decode.ts";
import { broken, checkResponse, parsed, shown, type Finding } from "./response-checks.ts";
import { jsonBody } from "./bodies.ts";
import { differences } from "./difference.ts";
import { withCurrent, type FuzzCase, type FuzzRequest } from "./cases.ts";
import { toJsonText } from "./json-text.ts";
import type { FuzzResponse, Subject } from "./subject.ts";

export interface Exchange {
  readonly request: FuzzRequest;
  readonly answer: FuzzResponse;
}

export interface CaseReport {
  readonly findings: readonly Finding[];
  /** All requests and responses, in order. */
  readonly exchanges: readonly Exchange[];
  /** Response status of the attack; undefined if no victim could be created. */
  readonly status: number | undefined;
}

export async function runCase(subject: Subject, fuzzCase: FuzzCase): Promise<CaseReport> {
  const play = new Play(subject, fuzzCase);
  try {
    await play.run();
  } catch (thrown) {
    play.findings.push(
      broken("every request gets a response", thrown instanceof Error ? String(thrown.stack) : String(thrown)),
    );
  }
  const { findings, exchanges, status } = play;
  return { findings, exchanges, status };
}

/** Virtual time in which the server updates the status of a custom resource definition. */
const SETTLING_MS = 200;
const JSON_BODY = { "content-type": "application/json" } as const;
const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";
const METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";

/** As kubernetes: a binding may name any node, but a pod with an invalid node name cannot be written back. */
const BINDING = /\/binding(\?|$)/;

class Play {
  readonly findings: Finding[] = [];
  readonly exchanges: Exchange[] = [];
  status: number | undefined;
  readonly #subject: Subject;
  readonly #case: FuzzCase;
  readonly #path: string;
  readonly #isDefinition: boolean;

  constructor(subject: Subject, fuzzCase: FuzzCase) {
    this.#subject = subject;
    this.#case = fuzzCase;
    this.#path = `${fuzzCase.collection}/${fuzzCase.name}`;
    this.#isDefinition = fuzzCase.collection.endsWith("/customresourcedefinitions");
  }

  async run(): Promise<void> {
    const before = await this.#createVictim();
    if (this.#case.victims.length > 0 && before === undefined) return;
    const request = withCurrent(this.#case.request, before === undefined ? undefined : parsed(before));
    const response = await this.#ask(request);
    this.status = response.status;
    const existing = await this.#checkEffect(request, { answer: response, before });
    // The object is checked if the attack may have changed it; otherwise, because it was valid before, only in every
    // fourth case.
    const isNew = response.status < 300 || this.#case.number % 4 === 0;
    if (existing !== undefined && isNew) await this.#checkObject(existing);
    await this.#cleanUp(existing);
  }

  async #ask(request: FuzzRequest): Promise<FuzzResponse> {
    const response = await this.#subject.call(request);
    this.exchanges.push({ request, answer: response });
    const findings = checkResponse(request, response);
    const complaints = this.#subject.takeLoggedErrors();
    if (complaints.length > 0 || findings.length > 0)
      findings.push(...complaints.map((complaint) => broken("the server logs no error", complaint)));
    this.findings.push(...findings);
    return response;
  }

  #get(path: string, headers: FuzzRequest["headers"] = {}): Promise<FuzzResponse> {
    return this.#ask({ method: "GET", target: path, headers });
  }

  /** Creates the victim and returns it as stored; undefined if the server rejects all its bodies. */
  async #createVictim(): Promise<string | undefined> {
    const { victims, collection } = this.#case;
    for (const victim of victims) {
      const body = toJsonText(victim);
      const created = await this.#ask({ method: "POST", target: collection, headers: JSON_BODY, body });
      if (created.status === 201) return this.#settled(created);
    }
    return undefined;
  }

  /**
   * Waits until the server has updated a custom resource definition itself, which it does after its creation and every
   * change. Returns the object as it is then.
   */
  async #settled(answer: FuzzResponse): Promise<string> {
    if (!this.#isDefinition) return answer.text;
    await this.#subject.pass(SETTLING_MS);
    const { status, text } = await this.#get(this.#createdPath(answer));
    return status === 200 ? text : answer.text;
  }

  /**
   * Checks the effect of the attack. Returns the object as it can be read now; undefined if it does not exist or its
   * path is not known.
   */
  async #checkEffect(
    request: FuzzRequest,
    { answer, before }: { readonly answer: FuzzResponse; readonly before: string | undefined },
  ): Promise<Existing | undefined> {
    const { effect, isDryRun } = this.#case;
    if (effect === "anything") return undefined;
    const isAccepted = answer.status >= 200 && answer.status < 300;
    const isCreated = effect === "creates" && isAccepted && !isDryRun;
    // The name of a new object cannot easily be read from a Table or a YAML document.
    if (isCreated && !isPlainObject(answer)) return undefined;
    const path = isCreated ? this.#createdPath(answer) : this.#path;
    const after = await this.#get(path);
    if (effect !== "reads" && (!isAccepted || isDryRun)) this.#expectUnchanged({ answer, before, after });
    else if (isAccepted) this.#expectDone(request, { answer, after });
    return after.status === 200 ? { path, text: await this.#settled(after) } : undefined;
  }

  #createdPath(answer: FuzzResponse): string {
    const name = stringAt(objectAt(parsed(answer.text) as JsonObject, "metadata"), "name");
    return `${this.#case.collection}/${encodeURIComponent(name.toWellFormed())}`;
  }

  #expectUnchanged({
    answer,
    before,
    after,
  }: {
    answer: FuzzResponse;
    before: string | undefined;
    after: FuzzResponse;
  }): void {
    const isUnchanged =
      before === undefined ? after.status === 404 : after.text === before || this.#isSame(before, after.text);
    if (isUnchanged) return;
    const why = answer.status >= 400 ? "a rejected write changes nothing" : "a dry run changes nothing";
    this.findings.push(broken(why, `${shown(answer)}\nbefore: ${before ?? "nothing"}\nafter: ${after.text}`));
  }

  /**
   * Compares two states of an object, without the status of a custom resource definition, which the server itself
   * writes.
   */
  #isSame(left: string, right: string): boolean {
    return this.#isDefinition ? isSame(withoutStatus(left), withoutStatus(right)) : isSame(left, right);
  }

  #expectDone(request: FuzzRequest, { answer, after }: { answer: FuzzResponse; after: FuzzResponse }): void {
    const { effect } = this.#case;
    if (effect === "deletes") {
      if (request.target.startsWith(this.#path) && !isGone(after))
        this.findings.push(broken("a deleted object is gone or terminating", after.text.slice(0, 2_000)));
      return;
    }
    if (effect !== "creates" && effect !== "changes") return;
    if (after.status !== 200) {
      if (!isTerminating(answer.text)) this.findings.push(broken("a written object can be read", shown(after)));
    } else if (answer.text !== after.text && isPlainObject(answer) && !this.#isSame(answer.text, after.text))
      this.findings.push(
        broken("a read returns what the write returned", differences(parsed(answer.text), parsed(after.text))),
      );
  }

  /** Checks the invariants of an existing object, regardless of which request wrote it. */
  async #checkObject({ path, text }: Existing): Promise<void> {
    const { number, target, effect } = this.#case;
    if (effect === "reads" || isTerminating(text) || BINDING.test(this.#case.request.target)) return;
    const put = await this.#ask({ method: "PUT", target: path, headers: JSON_BODY, body: text });
    if (put.status !== 200)
      this.findings.push(broken("an object can be written back as it was read", `${shown(put)}\n${text}`));
    else if (put.text !== text)
      this.findings.push(
        broken("writing an object back as it was read changes nothing", differences(parsed(text), parsed(put.text))),
      );
    if (number % 4 === 0) await this.#expectOk("the object can be read as a Table", path, { accept: TABLE });
    if (number % 8 === 1)
      await this.#expectOk("the object can be read as PartialObjectMetadata", path, { accept: METADATA });
    if (number % 8 === 2) await this.#expectOk("the object can be read as YAML", path, { accept: "application/yaml" });
    // The result is not checked further, because not every kind supports protobuf; that a protobuf response can be
    // decoded is checked for every response.
    if (number % 8 === 5) await this.#get(path, { accept: PROTOBUF_MEDIA_TYPE });
    if (number % 16 === 3) await this.#expectOk("the collection can be listed", this.#case.collection);
    for (const other of target.otherPaths)
      await this.#checkOtherVersion(other + path.slice(path.lastIndexOf("/")), { path, text });
  }

  async #expectOk(promise: string, path: string, headers: FuzzRequest["headers"] = {}): Promise<FuzzResponse> {
    const response = await this.#get(path, headers);
    if (response.status !== 200) this.findings.push(broken(promise, shown(response)));
    return response;
  }

  async #checkOtherVersion(otherPath: string, { path, text }: Existing): Promise<void> {
    const converted = await this.#expectOk("the object can be read in other versions", otherPath);
    if (converted.status !== 200) return;
    const put = await this.#ask({ method: "PUT", target: otherPath, headers: JSON_BODY, body: converted.text });
    if (put.status !== 200) {
      this.findings.push(
        broken("an object can be written back in another version", `${shown(put)}\n${converted.text}`),
      );
      return;
    }
    const again = await this.#get(path);
    if (again.text !== text)
      this.findings.push(
        broken(
          "writing an object back in another version changes nothing",
          differences(parsed(text), parsed(again.text)),
        ),
      );
  }

  /** Deletes only some of the objects, so that attacks also meet resources with several objects. */
  async #cleanUp(existing: Existing | undefined): Promise<void> {
    if (existing === undefined || this.#case.number % 3 !== 0) return;
    const remove: FuzzRequest = { method: "DELETE", target: `${existing.path}?gracePeriodSeconds=0`, headers: {} };
    const removed = await this.#ask(remove);
    if (removed.status !== 200 || !removed.text.includes('"finalizers"')) return;
    const headers = { "content-type": "application/merge-patch+json" };
    const { bytes: body } = jsonBody({ metadata: { finalizers: null } });
    await this.#ask({ method: "PATCH", target: existing.path, headers, body });
  }
}

function withoutStatus(text: string): string {
  const { status: _status, ...object } = parsed(text) as JsonObject;
  const { managedFields: _fields, resourceVersion: _version, ...metadata } = objectAt(object, "metadata");
  return JSON.stringify({ ...object, metadata });
}

interface Existing {
  readonly path: string;
  readonly text: string;
}

/** True for an object of the requested kind in JSON; false for a Table, PartialObjectMetadata or a Status. */
function isPlainObject({ contentType, text, status }: FuzzResponse): boolean {
  if (status < 200 || status >= 300 || !contentType.startsWith("application/json")) return false;
  const value = parsed(text);
  return isJsonObject(value) && !["Table", "PartialObjectMetadata", "Status"].includes(String(value["kind"]));
}

function isSame(left: string, right: string): boolean {
  return jsonEquals(parsed(left), parsed(right));
}

function isGone({ status, text }: FuzzResponse): boolean {
  return status === 404 || isTerminating(text);
}

function isTerminating(text: string): boolean {
  const value = parsed(text);
  return isJsonObject(value) && objectAt(value, "metadata")["deletionTimestamp"] !== undefined;
}
