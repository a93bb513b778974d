/** Plays one case and holds what the server did against its promises. */
import { isJsonObject, jsonEquals, objectAt, stringAt, type JsonObject } from "../../src/meta/json.ts";
import { PROTOBUF_MEDIA_TYPE } from "../../src/objects/protobuf/decode.ts";
import { broken, checkAnswer, parsed, shown, type Finding } from "./answer-checks.ts";
import { jsonBody } from "./bodies.ts";
import { differences } from "./difference.ts";
import { withCurrent, type FuzzCase, type FuzzRequest } from "./cases.ts";
import { toJsonText } from "./json-text.ts";
import type { Answer, Subject } from "./subject.ts";

export interface Exchange {
  readonly request: FuzzRequest;
  readonly answer: Answer;
}

export interface CaseReport {
  readonly findings: readonly Finding[];
  /** Everything that was asked, in order. */
  readonly exchanges: readonly Exchange[];
  /** The attack's own; undefined when there was nothing to attack. */
  readonly status: number | undefined;
}

export async function runCase(subject: Subject, fuzzCase: FuzzCase): Promise<CaseReport> {
  const play = new Play(subject, fuzzCase);
  try {
    await play.run();
  } catch (thrown) {
    play.findings.push(
      broken("every request is answered", thrown instanceof Error ? String(thrown.stack) : String(thrown)),
    );
  }
  const { findings, exchanges, status } = play;
  return { findings, exchanges, status };
}

/** Of virtual time. */
const SETTLING_MS = 200;
const JSON_BODY = { "content-type": "application/json" } as const;
const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";
const METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";

/** As kubernetes: a pod may be bound to a node of any name, and nobody can put back such a pod. */
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
    const answer = await this.#ask(request);
    this.status = answer.status;
    const existing = await this.#checkEffect(request, { answer, before });
    // What was not attacked with success was fine before, and is looked at now and then.
    const isNew = answer.status < 300 || this.#case.number % 4 === 0;
    if (existing !== undefined && isNew) await this.#checkObject(existing);
    await this.#cleanUp(existing);
  }

  async #ask(request: FuzzRequest): Promise<Answer> {
    const answer = await this.#subject.call(request);
    this.exchanges.push({ request, answer });
    const findings = checkAnswer(request, answer);
    const complaints = this.#subject.takeComplaints();
    if (complaints.length > 0 || findings.length > 0)
      findings.push(...complaints.map((complaint) => broken("the server does not complain", complaint)));
    this.findings.push(...findings);
    return answer;
  }

  #get(path: string, headers: FuzzRequest["headers"] = {}): Promise<Answer> {
    return this.#ask({ method: "GET", target: path, headers });
  }

  /** The object as the server has it; undefined when it wants none. */
  async #createVictim(): Promise<string | undefined> {
    const { victims, collection } = this.#case;
    for (const victim of victims) {
      const body = toJsonText(victim);
      const created = await this.#ask({ method: "POST", target: collection, headers: JSON_BODY, body });
      if (created.status === 201) return this.#settled(created);
    }
    return undefined;
  }

  /** A definition is looked after by the server as soon as it is there, and after every change. */
  async #settled(answer: Answer): Promise<string> {
    if (!this.#isDefinition) return answer.text;
    await this.#subject.pass(SETTLING_MS);
    const { status, text } = await this.#get(this.#createdPath(answer));
    return status === 200 ? text : answer.text;
  }

  /** What stands there now, read by its path; undefined when nothing does or nothing can be said. */
  async #checkEffect(
    request: FuzzRequest,
    { answer, before }: { readonly answer: Answer; readonly before: string | undefined },
  ): Promise<Existing | undefined> {
    const { effect, isDryRun } = this.#case;
    if (effect === "anything") return undefined;
    const isAccepted = answer.status >= 200 && answer.status < 300;
    const isCreated = effect === "creates" && isAccepted && !isDryRun;
    // A Table or a document in YAML does not easily say what the new object is called.
    if (isCreated && !isPlainObject(answer)) return undefined;
    const path = isCreated ? this.#createdPath(answer) : this.#path;
    const after = await this.#get(path);
    if (effect !== "reads" && (!isAccepted || isDryRun)) this.#expectUnchanged({ answer, before, after });
    else if (isAccepted) this.#expectDone(request, { answer, after });
    return after.status === 200 ? { path, text: await this.#settled(after) } : undefined;
  }

  #createdPath(answer: Answer): string {
    const name = stringAt(objectAt(parsed(answer.text) as JsonObject, "metadata"), "name");
    return `${this.#case.collection}/${encodeURIComponent(name.toWellFormed())}`;
  }

  #expectUnchanged({ answer, before, after }: { answer: Answer; before: string | undefined; after: Answer }): void {
    const isUnchanged =
      before === undefined ? after.status === 404 : after.text === before || this.#isSame(before, after.text);
    if (isUnchanged) return;
    const why = answer.status >= 400 ? "a refused write changes nothing" : "a dry run changes nothing";
    this.findings.push(broken(why, `${shown(answer)}\nbefore: ${before ?? "nothing"}\nafter: ${after.text}`));
  }

  /** But for what the server itself says of a definition. */
  #isSame(left: string, right: string): boolean {
    return this.#isDefinition ? isSame(withoutStatus(left), withoutStatus(right)) : isSame(left, right);
  }

  #expectDone(request: FuzzRequest, { answer, after }: { answer: Answer; after: Answer }): void {
    const { effect } = this.#case;
    if (effect === "deletes") {
      if (request.target.startsWith(this.#path) && !isGone(after))
        this.findings.push(broken("what was deleted is gone or going", after.text.slice(0, 2_000)));
      return;
    }
    if (effect !== "creates" && effect !== "changes") return;
    if (after.status !== 200) {
      if (!isTerminating(answer.text)) this.findings.push(broken("what was written can be read", shown(after)));
    } else if (answer.text !== after.text && isPlainObject(answer) && !this.#isSame(answer.text, after.text))
      this.findings.push(
        broken("what was written is what was answered", differences(parsed(answer.text), parsed(after.text))),
      );
  }

  /** Of an object that stands there, whoever wrote it. */
  async #checkObject({ path, text }: Existing): Promise<void> {
    const { number, target, effect } = this.#case;
    if (effect === "reads" || isTerminating(text) || BINDING.test(this.#case.request.target)) return;
    const put = await this.#ask({ method: "PUT", target: path, headers: JSON_BODY, body: text });
    if (put.status !== 200) this.findings.push(broken("what can be read can be put back", `${shown(put)}\n${text}`));
    else if (put.text !== text)
      this.findings.push(
        broken("putting back what was read changes nothing", differences(parsed(text), parsed(put.text))),
      );
    if (number % 4 === 0) await this.#expectOk("a Table can be made of it", path, { accept: TABLE });
    if (number % 8 === 1) await this.#expectOk("metadata can be made of it", path, { accept: METADATA });
    if (number % 8 === 2) await this.#expectOk("YAML can be made of it", path, { accept: "application/yaml" });
    // Not every kind has a form in protobuf; that it can be read is looked at with every answer.
    if (number % 8 === 5) await this.#get(path, { accept: PROTOBUF_MEDIA_TYPE });
    if (number % 16 === 3) await this.#expectOk("its collection can be listed", this.#case.collection);
    for (const other of target.otherPaths)
      await this.#checkOtherVersion(other + path.slice(path.lastIndexOf("/")), { path, text });
  }

  async #expectOk(promise: string, path: string, headers: FuzzRequest["headers"] = {}): Promise<Answer> {
    const answer = await this.#get(path, headers);
    if (answer.status !== 200) this.findings.push(broken(promise, shown(answer)));
    return answer;
  }

  async #checkOtherVersion(otherPath: string, { path, text }: Existing): Promise<void> {
    const converted = await this.#expectOk("other versions show it too", otherPath);
    if (converted.status !== 200) return;
    const put = await this.#ask({ method: "PUT", target: otherPath, headers: JSON_BODY, body: converted.text });
    if (put.status !== 200) {
      this.findings.push(
        broken("what can be read can be put back in another version", `${shown(put)}\n${converted.text}`),
      );
      return;
    }
    const again = await this.#get(path);
    if (again.text !== text)
      this.findings.push(
        broken("putting it back in another version changes nothing", differences(parsed(text), parsed(again.text))),
      );
  }

  /** Of some: collections that have something in them are attacked, too. */
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

/** An object of its own kind in JSON: no Table, no Status. */
function isPlainObject({ contentType, text, status }: Answer): boolean {
  if (status < 200 || status >= 300 || !contentType.startsWith("application/json")) return false;
  const value = parsed(text);
  return isJsonObject(value) && !["Table", "PartialObjectMetadata", "Status"].includes(String(value["kind"]));
}

function isSame(left: string, right: string): boolean {
  return jsonEquals(parsed(left), parsed(right));
}

function isGone({ status, text }: Answer): boolean {
  return status === 404 || isTerminating(text);
}

function isTerminating(text: string): boolean {
  const value = parsed(text);
  return isJsonObject(value) && objectAt(value, "metadata")["deletionTimestamp"] !== undefined;
}
