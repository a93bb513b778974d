/**
 * Handles requests that set fields which this release does not know but a live peer does, as --field-loss says. Fields
 * that no server knows are mistakes of the client, which field validation handles.
 */
import type { WithUser } from "../../access/auth/user.ts";
import type { FieldLossVerdict, NamedFields, JudgeFieldLoss } from "../../serving/endpoints/field-loss.ts";
import { bufferedBody } from "../../serving/http/request-body.ts";
import { badRequest, invalid, type FieldError } from "../../meta/status-error.ts";
import type { NamedField, ValuePath } from "../../objects/unknown-fields.ts";
import type { Forward } from "./forward.ts";
import { serviceUnavailableBecause } from "./unavailable-responses.ts";
import { clientRelease, routeOf } from "./peer-proxy.ts";
import { serverName } from "../../serving/discovery/server-name.ts";
import type { ClusterView, NamedFieldsNeed, PeerView } from "./view.ts";
import type { PeerConfig } from "./peer-config.ts";

interface FieldLossParts {
  readonly peers: Pick<PeerConfig, "isEnabled" | "routing" | "fieldLoss">;
  readonly isVersionAware: boolean;
  readonly view: () => ClusterView;
  readonly forward: Forward;
}

const SERVE: FieldLossVerdict = { kind: "serve", warnings: [] };

/** A field that some peers know, with those paths below it that at least one peer knows. */
interface KnownField extends NamedField {
  readonly peers: readonly PeerView[];
}

/** Undefined if the peer proxy is disabled. */
export function createFieldLoss(parts: FieldLossParts): JudgeFieldLoss<WithUser> | undefined {
  const { isEnabled, routing, fieldLoss } = parts.peers;
  if (!isEnabled) return undefined;
  // With --peer-routing=documents, a request is not routed by its fields; instead the client is warned that they were
  // dropped.
  const mode = fieldLoss === "route" && routing === "documents" ? "warn" : fieldLoss;
  return (request, named) => {
    // A request makes at most one hop, so this server serves a proxied request even if another peer knows more of its
    // fields.
    if (request.isProxied) return SERVE;
    const view = parts.view();
    if (named.isCut && mode !== "warn") rejectUncounted(named, view);
    const known = knownElsewhere(request, named, view);
    if (known.length === 0) return SERVE;
    switch (mode) {
      case "warn":
        return dropped(known, view);
      case "refuse":
        throw rejection(request, { named, known, view });
      case "route":
        return routed(parts, request, { needs: needOf(named, pathsOf(known)), view }) ?? dropped(known, view);
    }
  };
}

/**
 * Rejects a request with more unknown fields than are examined: the rest would be dropped although another server may
 * know them.
 */
function rejectUncounted({ fields }: NamedFields, { self, peers }: ClusterView): void {
  const other = peers.find(({ release }) => release !== undefined && release !== self.release);
  if (other === undefined) return;
  const known = `${self.id} (${self.release}) does not know, and ${other.id} (${other.release}) may`;
  throw badRequest(`the request sets more than ${fields.length} fields that ${known}`);
}

function knownElsewhere({ info }: WithUser, named: NamedFields, view: ClusterView): KnownField[] {
  const knowing = (path: ValuePath): PeerView[] =>
    view.peers.filter((peer) => view.supports(peer, info, needOf(named, [path])));
  return named.fields.flatMap(({ name, paths }) => {
    const peers = knowing(paths[0]!);
    // Paths below the field that no peer knows are mistakes of the client, and must not prevent routing by the other
    // paths.
    return peers.length === 0 ? [] : [{ name, peers, paths: paths.filter((path) => knowing(path).length > 0) }];
  });
}

function pathsOf(known: readonly KnownField[]): ValuePath[] {
  return known.flatMap(({ paths }) => paths);
}

function needOf({ groupVersion, kind }: NamedFields, paths: readonly ValuePath[]): NamedFieldsNeed {
  return { kind: "fields", of: { ...groupVersion, kind }, paths };
}

interface Needed {
  readonly needs: NamedFieldsNeed;
  readonly view: ClusterView;
}

/** Undefined if no peer knows all of the fields. */
function routed(parts: FieldLossParts, request: WithUser, { needs, view }: Needed): FieldLossVerdict | undefined {
  const { forward, isVersionAware } = parts;
  const compatibilityVersion = isVersionAware ? clientRelease(request) : undefined;
  const route = routeOf(request, view, { needs, compatibilityVersion });
  switch (route.kind) {
    case "peer":
      return { kind: "forward", respond: (body) => forward({ ...request, body: bufferedBody(body) }, route, view) };
    case "unavailable":
      throw serviceUnavailableBecause(route, request.info, view.self.id);
    default:
      return undefined;
  }
}

function dropped(known: readonly KnownField[], view: ClusterView): FieldLossVerdict {
  return { kind: "serve", warnings: known.map((field) => lossOf(field, view)) };
}

function lossOf({ name, peers }: KnownField, { self }: ClusterView): string {
  return `the field ${JSON.stringify(name)} was dropped: ${unknownHere(self, peers)}`;
}

function unknownHere({ id, release }: ClusterView["self"], peers: readonly PeerView[]): string {
  const others = peers
    .slice(0, NAMES_MAX)
    .map(({ id: peer, calledAt, release: of }) => `${serverName(peer, calledAt)} (${of})`);
  return `${id} (${release}) does not know it, ${others.join(", ")} ${peers.length === 1 ? "does" : "do"}`;
}

const NAMES_MAX = 3;

/**
 * Returns 422 instead of 409: after a conflict, clients would read the object and retry, and the same request would
 * fail again.
 */
function rejection(
  { info }: WithUser,
  {
    named,
    known,
    view,
  }: { readonly named: NamedFields; readonly known: readonly KnownField[]; readonly view: ClusterView },
): Error {
  const errors = known.map(({ name, peers }): FieldError => ({
    field: name,
    reason: "FieldValueForbidden",
    message: `Forbidden: ${unknownHere(view.self, peers)}`,
  }));
  return invalid({ group: named.groupVersion.group, kind: named.kind }, info.name, errors);
}
