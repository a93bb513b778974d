/**
 * Composes a JSON value from the events of the YAML parser, as Kubernetes' YAML library does. The last of duplicate
 * keys is used, and the key is reported; a merge key (<<) takes effect at its position in the map; each alias is
 * composed separately, up to a limit. Works on event indexes, so that an alias is read by continuing at another index.
 */
import { must } from "../../base/assert.ts";
import { EVENT_ID, getScalarValue, SCALAR_STYLE, type Event } from "js-yaml";
import { setMember, type JsonObject } from "../../meta/json.ts";
import { JSON_DEPTH_MAX } from "../json/json-text.ts";
import { YamlError } from "./yaml-error.ts";
import { keyInMessage, yamlKeyText, resolveScalar, type YamlScalar } from "./yaml-scalar.ts";

export interface ComposedYaml {
  readonly value: unknown;
  /** Messages such as `line 2: key "a" already set in map`. */
  readonly repeatedKeys: readonly string[];
}

type ScalarEvent = Extract<Event, { type: typeof EVENT_ID.SCALAR }>;

/** Composes the first document of the stream; null if there is none. */
export function composeYaml(text: string, events: readonly Event[]): ComposedYaml {
  if (events.length === 0) return { value: null, repeatedKeys: [] };
  const composer = new Composer(text, events);
  return { value: composer.document(), repeatedKeys: composer.repeatedKeys };
}

const REPEATED_KEYS_MAX = 100;

interface Mapping {
  readonly members: Map<string, unknown>;
  /** The keys seen so far, with their types: 1 and "1" differ until they become text. */
  readonly keys: Set<string>;
}

class Composer {
  readonly repeatedKeys: string[] = [];
  readonly #text: string;
  readonly #events: readonly Event[];
  /** Maps the event index of each alias to the index of the anchored node. */
  readonly #targets: ReadonlyMap<number, number>;
  /**
   * The event indexes of the anchored nodes that are being composed through aliases. If an alias refers to a node in
   * this set, the node contains itself.
   */
  readonly #active = new Set<number>();
  #at = 0;
  #depth = 0;
  #decoded = 0;
  #decodedInAliases = 0;

  constructor(text: string, events: readonly Event[]) {
    this.#text = text;
    this.#events = events;
    this.#targets = aliasTargets(text, events);
  }

  document(): unknown {
    this.#at = 1;
    return this.#value();
  }

  #value(): unknown {
    this.#count();
    if (++this.#depth > JSON_DEPTH_MAX) throw new YamlError("yaml: exceeded max depth");
    const value = this.#node();
    this.#depth--;
    return value;
  }

  #node(): unknown {
    const event = this.#event();
    switch (event.type) {
      case EVENT_ID.SCALAR:
        return jsonScalar(this.#scalar());
      case EVENT_ID.SEQUENCE:
        return this.#sequence();
      case EVENT_ID.MAPPING: {
        const mapping: Mapping = { members: new Map(), keys: new Set() };
        this.#mapping(mapping);
        return toObject(mapping);
      }
      default:
        return this.#throughAlias(() => this.#value());
    }
  }

  #scalar(): YamlScalar {
    const event = this.#events[this.#at++] as ScalarEvent;
    const text = event.valueStart < 0 ? "" : getScalarValue(this.#text, event);
    if (!text.isWellFormed()) throw new YamlError("yaml: found invalid Unicode character escape code");
    if (event.tagStart < 0 && event.style !== SCALAR_STYLE.PLAIN) return text;
    return resolveScalar(text, this.#tag(event));
  }

  /** The full tag of a scalar. A tag of another family only means that the scalar is text. */
  #tag({ tagStart, tagEnd }: ScalarEvent): string {
    const tag = tagStart < 0 ? "" : this.#text.slice(tagStart, tagEnd);
    if (tag.startsWith("!!")) return `tag:yaml.org,2002:${tag.slice(2)}`;
    return tag.startsWith("!<") ? tag.slice(2, -1) : tag;
  }

  #sequence(): unknown[] {
    this.#at++;
    const items: unknown[] = [];
    while (this.#event().type !== EVENT_ID.POP) items.push(this.#value());
    this.#at++;
    return items;
  }

  #mapping(into: Mapping): void {
    this.#at++;
    while (this.#event().type !== EVENT_ID.POP) {
      if (this.#isMergeKey()) {
        this.#at++;
        this.#merge(into);
        continue;
      }
      const key = this.#key();
      const valueAt = this.#at;
      this.#set(into, { key, value: this.#value(), valueAt });
    }
    this.#at++;
  }

  #key(): YamlScalar {
    this.#count();
    const event = this.#event();
    if (event.type === EVENT_ID.SCALAR) return this.#scalar();
    if (event.type === EVENT_ID.ALIAS) return this.#throughAlias(() => this.#key());
    throw new YamlError("yaml: invalid map key: a list or a map cannot be a key");
  }

  #set({ members, keys }: Mapping, pair: { key: YamlScalar; value: unknown; valueAt: number }): void {
    const { key, value, valueAt } = pair;
    const text = yamlKeyText(key);
    const identity = `${typeof key} ${text}`;
    if (keys.has(identity)) this.#report(key, valueAt);
    keys.add(identity);
    members.set(text, value);
  }

  #report(key: YamlScalar, valueAt: number): void {
    if (this.repeatedKeys.length >= REPEATED_KEYS_MAX) return;
    const line = lineAt(this.#text, startOf(this.#events, valueAt));
    this.repeatedKeys.push(`line ${line}: key ${keyInMessage(key)} already set in map`);
  }

  #isMergeKey(): boolean {
    const event = this.#event();
    if (event.type !== EVENT_ID.SCALAR || event.valueStart < 0 || event.valueEnd - event.valueStart !== 2) return false;
    const isMerge =
      event.tagStart < 0 ? event.style === SCALAR_STYLE.PLAIN : this.#tag(event) === "tag:yaml.org,2002:merge";
    return isMerge && this.#text.startsWith("<<", event.valueStart);
  }

  #merge(into: Mapping): void {
    if (this.#event().type !== EVENT_ID.SEQUENCE) return this.#mergeOne(into);
    const items: number[] = [];
    let at = this.#at + 1;
    for (; eventAt(this.#events, at).type !== EVENT_ID.POP; at = nodeEnd(this.#events, at)) items.push(at);
    // The first item of the list takes precedence, so it is merged last.
    for (const item of items.toReversed()) {
      this.#at = item;
      this.#mergeOne(into);
    }
    this.#at = at + 1;
  }

  #mergeOne(into: Mapping): void {
    this.#count();
    const { type } = this.#event();
    if (type === EVENT_ID.MAPPING) return this.#mapping(into);
    if (type !== EVENT_ID.ALIAS || eventAt(this.#events, this.#target()).type !== EVENT_ID.MAPPING)
      throw new YamlError("yaml: map merge requires map or sequence of maps as the value");
    this.#throughAlias(() => this.#mergeOne(into));
  }

  #throughAlias<T>(read: () => T): T {
    const alias = this.#at;
    const target = this.#target();
    if (this.#active.has(target))
      throw new YamlError(
        `yaml: anchor '${anchorName(this.#text, eventAt(this.#events, alias))}' value contains itself`,
      );
    this.#active.add(target);
    this.#at = target;
    const value = read();
    this.#active.delete(target);
    this.#at = alias + 1;
    return value;
  }

  #event(): Event {
    return eventAt(this.#events, this.#at);
  }

  /** The event index to which the next alias refers. */
  #target(): number {
    return must(this.#targets.get(this.#at), "every alias has a target");
  }

  /**
   * Counts decoded nodes against the limit of goyaml: small documents may consist almost entirely of aliases, large
   * ones may not.
   */
  #count(): void {
    this.#decoded++;
    if (this.#active.size > 0) this.#decodedInAliases++;
    if (this.#decodedInAliases <= 100 || this.#decoded <= 1000) return;
    if (this.#decodedInAliases / this.#decoded > allowedAliasRatio(this.#decoded))
      throw new YamlError("yaml: document contains excessive aliasing");
  }
}

const ALIAS_RATIO_RANGE = { low: 400_000, high: 4_000_000 } as const;

function allowedAliasRatio(decoded: number): number {
  const { low, high } = ALIAS_RATIO_RANGE;
  if (decoded <= low) return 0.99;
  return decoded >= high ? 0.1 : 0.99 - (0.89 * (decoded - low)) / (high - low);
}

/** The scalar as a JSON value. Throws for NaN and infinity, which JSON cannot represent. */
function jsonScalar(value: YamlScalar): unknown {
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "number" || Number.isFinite(value)) return value;
  throw new YamlError(`json: unsupported value: ${Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf"}`);
}

/** The mapping as an object with sorted keys, because Kubernetes decodes and reports errors in this order. */
function toObject({ members }: Mapping): JsonObject {
  const object: JsonObject = {};
  for (const key of [...members.keys()].sort()) setMember(object, key, members.get(key));
  return object;
}

/** The anchor of each alias of the first document: the nearest anchor of that name before the alias. */
function aliasTargets(text: string, events: readonly Event[]): Map<number, number> {
  const anchors = new Map<string, number>();
  const targets = new Map<number, number>();
  for (const [at, event] of events.entries()) {
    if (at === 0) continue;
    if (event.type === EVENT_ID.DOCUMENT) break;
    if (event.type === EVENT_ID.ALIAS) {
      const name = anchorName(text, event);
      const target = anchors.get(name);
      if (target === undefined) throw new YamlError(`yaml: unknown anchor '${name}' referenced`);
      targets.set(at, target);
    } else if (event.type !== EVENT_ID.POP && event.anchorStart >= 0) anchors.set(anchorName(text, event), at);
  }
  return targets;
}

function anchorName(text: string, event: Event): string {
  return "anchorStart" in event ? text.slice(event.anchorStart, event.anchorEnd) : "";
}

function eventAt(events: readonly Event[], at: number): Event {
  return must(events[at], "events end where their document ends");
}

/** The event index after the node that begins at `at`. */
function nodeEnd(events: readonly Event[], at: number): number {
  let depth = 0;
  let end = at;
  do {
    const { type } = eventAt(events, end++);
    if (type === EVENT_ID.POP) depth--;
    else if (type === EVENT_ID.SEQUENCE || type === EVENT_ID.MAPPING) depth++;
  } while (depth > 0);
  return end;
}

/** The position of a node in the text; an empty node is at the end of the text before it. */
function startOf(events: readonly Event[], at: number): number {
  const event = eventAt(events, at);
  if (event.type === EVENT_ID.ALIAS) return event.anchorStart;
  if (event.type === EVENT_ID.SCALAR) {
    if (event.valueStart < 0) return at === 0 ? 0 : Math.max(0, startOf(events, at - 1));
    // The text of a block begins after its indicator and line break.
    return event.indent >= 0 ? event.valueStart - 1 : event.valueStart;
  }
  return "start" in event ? event.start : 0;
}

function lineAt(text: string, position: number): number {
  let line = 1;
  for (let next = text.indexOf("\n"); next >= 0 && next < position; next = text.indexOf("\n", next + 1)) line++;
  return line;
}
