/** Chooses the TLS certificate of a connection by the server name that the client sends (SNI). */
import type { SecureContext } from "node:tls";

/** A certificate for clients that connect to one of these names. "*.a.example" is the name of all hosts of a.example. */
export interface NamedKeyPair {
  readonly names: readonly string[];
  readonly cert: string;
  readonly key: string;
}

export type ContextOf = (pair: NamedKeyPair) => SecureContext;

export class NamedContexts {
  #contexts: ReadonlyMap<string, SecureContext>;

  constructor(pairs: readonly NamedKeyPair[], contextOf: ContextOf) {
    this.#contexts = byName(pairs, contextOf);
  }

  /** Throws if a certificate cannot be used, and keeps the current ones. */
  replace(pairs: readonly NamedKeyPair[], contextOf: ContextOf): void {
    this.#contexts = byName(pairs, contextOf);
  }

  /** As Node's SNICallback. Without a context, Node uses the default certificate. */
  readonly choose = (name: string, done: (error: null, context?: SecureContext) => void): void => {
    const wanted = name.toLowerCase();
    done(null, this.#contexts.get(wanted) ?? this.#contexts.get(wanted.replace(/^[^.]+/, "*")));
  };
}

/** The first pair with a name has precedence. */
function byName(pairs: readonly NamedKeyPair[], contextOf: ContextOf): ReadonlyMap<string, SecureContext> {
  const contexts = new Map<string, SecureContext>();
  for (const pair of pairs) {
    const context = contextOf(pair);
    for (const name of pair.names) if (!contexts.has(name.toLowerCase())) contexts.set(name.toLowerCase(), context);
  }
  return contexts;
}
