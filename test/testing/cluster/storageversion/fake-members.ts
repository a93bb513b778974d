/** The live servers of a cluster, controlled by a test. */
import type { ReleaseName } from "../../../../src/objects/catalog/release.ts";
import type { AgreementMember, Members } from "../../../../src/cluster/storageversion/members.ts";

export class FakeMembers implements Members {
  readonly #members = new Map<string, AgreementMember>();
  readonly #listeners = new Set<() => void>();
  /** The result of `catchUp`: true for "caught up", false for "unknown"; an error is thrown. */
  view: "caught up" | "unknown" | Error = "caught up";
  /** Called during `catchUp`. */
  whileCatchingUp: () => void = () => {};
  catchUps = 0;

  /** `ids`: the live servers. "-" before an ID marks a server that has not published its storage versions. */
  constructor(...ids: readonly string[]) {
    for (const id of ids) this.join(id);
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  join(text: string): void {
    const id = text.replace(/^-/, "");
    this.#members.set(id, { id, isPublished: !text.startsWith("-") });
    this.#tell();
  }

  /** Adds a kube-apiserver that publishes no entries and serves every resource. */
  joinKube(id: string, release: ReleaseName): void {
    this.#members.set(id, { id, isPublished: true, implied: { release, serves: () => true } });
    this.#tell();
  }

  leave(id: string): void {
    this.#members.delete(id);
    this.#tell();
  }

  live(): ReadonlyMap<string, AgreementMember> {
    return new Map(this.#members);
  }

  async catchUp(): Promise<boolean> {
    this.catchUps++;
    this.whileCatchingUp();
    if (this.view instanceof Error) throw this.view;
    return this.view === "caught up";
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
