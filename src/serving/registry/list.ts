/** Reads one page of a list, at the requested freshness or revision. */
import { must } from "../../base/assert.ts";
import { StorageError } from "../../storage/kv.ts";
import type { Freshness, ListPage } from "../../storage/object-store.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";
import { expired, StatusError } from "../../meta/status-error.ts";
import type { RegistryContext } from "./context.ts";
import { decodeContinueToken, encodeContinueToken } from "./continue-token.ts";
import { conversionOf, rejectUnreadable, whyUnreadable } from "./representation.ts";
import type { ServedResource } from "./resource.ts";
import { storageReadError, UNREADABLE_NAMED_MAX, type Unreadable } from "./storage-errors.ts";
import { select, type Selection, type SelectionRequest } from "./selection.ts";

export interface ListRequest extends SelectionRequest {
  /** The requested state: of a given freshness, exactly at a revision, or after the page of a continue token. */
  readonly state:
    | Freshness
    | { readonly kind: "exact"; readonly revision: number }
    | { readonly kind: "continue"; readonly token: string };
  /** Maximum number of objects; 0 for no limit. */
  readonly limit: number;
}

export interface Listed {
  readonly entries: readonly Entry[];
  readonly revision: number;
  readonly continueToken: string | undefined;
  readonly remainingItemCount: number | undefined;
}

const EXPIRED_TOKEN =
  "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

export async function list(context: RegistryContext, served: ServedResource, request: ListRequest): Promise<Listed> {
  const selection = select(served, request);
  const page = await readState(context, selection, request);
  if (selection.readsFields) await conversionOf(page.entries, served);
  const matching = firstMatching(page.entries, selection.matches, request.limit);
  const total = selection.matches === undefined ? page.count : matching.length;
  const isCut = request.limit > 0 && total > request.limit;
  const entries = isCut ? matching.slice(0, request.limit) : matching;
  if (served.custom !== undefined) await conversionOf(entries, served);
  rejectUnreadableList(context, served, entries);
  if (!isCut) return { entries, revision: page.revision, continueToken: undefined, remainingItemCount: undefined };
  // The next page starts right after the last key of this page.
  const start = `${must(entries.at(-1), "a truncated page has entries").key.slice(selection.range.start.length)}\u0000`;
  return {
    entries,
    revision: page.revision,
    continueToken: encodeContinueToken({ revision: page.revision, start, issuedAtMs: context.clock.now() }),
    remainingItemCount: selection.matches === undefined ? total - entries.length : undefined,
  };
}

/** As kubernetes: while objects that cannot be read can be deleted, the error names all of them, not only the first. */
function rejectUnreadableList(context: RegistryContext, served: ServedResource, entries: readonly Entry[]): void {
  if (context.allowsUnsafeDeletion !== true) return entries.forEach((entry) => rejectUnreadable(entry, served));
  const found: Unreadable[] = [];
  for (const entry of entries) {
    const why = whyUnreadable(entry, served);
    if (why !== undefined) found.push({ entry, why });
    if (found.length > UNREADABLE_NAMED_MAX) break;
  }
  if (found.length === 0) return;
  throw storageReadError(served.groupResource, found, served.gates.isOn("StorageReadErrorNamesCause"));
}

function readState(context: RegistryContext, selection: Selection, request: ListRequest): Promise<ListPage> {
  const { state } = request;
  if (state.kind === "exact")
    return readExact(context, selection, { revision: state.revision, limit: storeLimit(selection, request) });
  if (state.kind === "continue")
    return readContinued(context, selection, { token: state.token, limit: storeLimit(selection, request) });
  return context.store.list(selection.range, state, storeLimit(selection, request));
}

/** The entries that the selectors select; if they are more than the limit, one more than the limit. */
function firstMatching(entries: readonly Entry[], matches: Selection["matches"], limit: number): readonly Entry[] {
  if (matches === undefined) return entries;
  if (limit === 0) return entries.filter(matches);
  const found: Entry[] = [];
  for (const entry of entries) {
    if (matches(entry)) found.push(entry);
    if (found.length > limit) break;
  }
  return found;
}

/**
 * Limits the keys that the store reads. With a selector there is no limit, because a page may have to skip any number
 * of keys.
 */
function storeLimit(selection: Selection, request: ListRequest): number | undefined {
  return selection.matches === undefined && request.limit > 0 ? request.limit : undefined;
}

/** As kubernetes: a list at a future revision returns an error without Retry-After. */
async function readExact(
  context: RegistryContext,
  selection: Selection,
  at: { revision: number; limit: number | undefined },
): Promise<ListPage> {
  try {
    return await context.store.listAt(selection.range, at.revision, at.limit);
  } catch (thrown) {
    if (!(thrown instanceof StorageError) || thrown.code !== "revision-future") throw thrown;
    const causes = [{ reason: "ResourceVersionTooLarge" as const, message: "Too large resource version" }];
    throw new StatusError("Timeout", thrown.message, { details: { causes }, cause: thrown });
  }
}

async function readContinued(
  context: RegistryContext,
  selection: Selection,
  at: { token: string; limit: number | undefined },
): Promise<ListPage> {
  const token = decodeContinueToken(at.token);
  const range = { start: selection.range.start + token.start, end: selection.range.end };
  if (token.revision < 0) return context.store.list(range, { kind: "newest" }, at.limit);
  const issuedAtMs = context.clock.now();
  const isOutdated = (): boolean => context.store.cache.isFromEarlierHistory(token.issuedAtMs);
  try {
    if (!isOutdated()) return await context.store.listAt(range, token.revision, at.limit);
  } catch (thrown) {
    if (!(thrown instanceof StorageError) || thrown.code !== "revision-compacted") throw thrown;
  }
  throw expired(EXPIRED_TOKEN, encodeContinueToken({ revision: -1, start: token.start, issuedAtMs }));
}
