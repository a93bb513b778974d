/**
 * The objects of one resource that are stored in versions that this server cannot read. Writes of the resource are
 * rejected as soon as there is one, and accepted as soon as there is none.
 */
import { someOf } from "../../base/some-of.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";

interface UnreadableVersionsOptions {
  /** The key prefix of the resource. */
  readonly prefix: string;
  readonly decodable: readonly string[];
  /** The release that cannot read them, such as "release 1.35". */
  readonly reader: string;
  /** Rejects writes of the resource for this reason; undefined accepts them. */
  readonly reject: (because: string | undefined) => void;
}

type Found = Pick<Entry, "key" | "apiVersion" | "corrupt">;

const NAMES_MAX = 5;

export class UnreadableVersions {
  readonly #options: UnreadableVersionsOptions;
  readonly #decodable: ReadonlySet<string>;
  /** The versions of the unreadable objects, by key. */
  readonly #found = new Map<string, string>();
  #isChanged = false;

  constructor(options: UnreadableVersionsOptions) {
    this.#options = options;
    this.#decodable = new Set(options.decodable);
  }

  /** Number of unreadable objects. */
  get count(): number {
    return this.#found.size;
  }

  /** Replaces all objects of the resource. */
  reset(entries: readonly Found[]): void {
    const was = this.#found.size;
    this.#found.clear();
    for (const entry of entries) if (this.#isUnreadable(entry)) this.#found.set(entry.key, entry.apiVersion);
    this.#isChanged ||= was > 0 || this.#found.size > 0;
    this.#judge(was > 0);
  }

  put(entry: Found): void {
    if (!this.#isUnreadable(entry)) return this.remove(entry.key);
    const was = this.#found.size;
    this.#found.set(entry.key, entry.apiVersion);
    this.#isChanged = true;
    this.#judge(was > 0);
  }

  remove(key: string): void {
    if (!this.#found.delete(key)) return;
    this.#isChanged = true;
    this.#judge(true);
  }

  /**
   * Updates the reason for which writes are rejected, if the objects have changed since the last call. This is not done
   * at each change, because its cost grows with the number of objects.
   */
  refreshReason(): void {
    if (!this.#isChanged) return;
    this.#isChanged = false;
    if (this.#found.size > 0) this.#options.reject(this.#because());
  }

  /** Corrupt values have no version; corrupt-values.ts reports them. */
  #isUnreadable({ corrupt, apiVersion }: Found): boolean {
    return corrupt === undefined && !this.#decodable.has(apiVersion);
  }

  #judge(wasRejecting: boolean): void {
    if (wasRejecting !== this.#found.size > 0) this.#options.reject(this.#because());
  }

  #because(): string | undefined {
    if (this.#found.size === 0) return undefined;
    const { prefix, reader } = this.#options;
    const versions = [...new Set(this.#found.values())].slice(0, NAMES_MAX).join(", ");
    const names = [...this.#found.keys()].map((key) => key.slice(prefix.length));
    return `${reader} cannot read ${versions}, in which ${someOf(names, NAMES_MAX)} are stored`;
  }
}
