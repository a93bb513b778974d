/**
 * Reads the text of files into Kubernetes objects, each with the line on which its document begins. A file that cannot
 * be read is a problem of its own, so that the other files are checked nevertheless.
 */
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { readJsonDocuments } from "./json-documents.ts";
import { looksLikeTemplate } from "./template.ts";
import { readYamlDocuments } from "./yaml-documents.ts";

export interface ManifestFile {
  readonly path: string;
  readonly text: string;
  /** Why the file has no text, as a clause: "is not a text file". */
  readonly unreadable?: string;
  /** The user has named the file itself: it is reported even if it contains nothing of Kubernetes. */
  readonly isNamed?: boolean;
  /** In the folder "templates" of a Helm chart. */
  readonly isChartTemplate?: boolean;
}

export interface Manifest {
  readonly file: string;
  /** The line on which the document begins, from 1. The objects of a list have the line of the list. */
  readonly line: number;
  /** The path that Helm writes in a comment "# Source:". */
  readonly source?: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly object: JsonObject;
}

type ProblemKind = "template" | "unreadable-file" | "duplicate-key" | "kustomization";

export interface ReadProblem {
  readonly id: ProblemKind;
  readonly file: string;
  /** 0 if the problem concerns the whole file. */
  readonly line: number;
  /** Why the file cannot be read, as a clause without a period; "" if the kind explains it. */
  readonly reason: string;
}

export interface ReadManifests {
  readonly manifests: readonly Manifest[];
  readonly problems: readonly ReadProblem[];
  /** Number of files without a Kubernetes object, such as the values of a chart. */
  readonly otherFiles: number;
}

/** A document of a file, parsed, or the reason why it cannot be. */
export interface ReadDocument {
  readonly line: number;
  readonly value?: unknown;
  readonly source?: string;
  readonly error?: string;
  /** Messages about keys that the document sets twice. */
  readonly repeatedKeys?: readonly string[];
}

const OBJECTS_MAX = 200_000;
/** Lists in lists: more are a mistake. */
const LIST_DEPTH_MAX = 8;

export function readManifests(files: Iterable<ManifestFile>): ReadManifests {
  const manifests: Manifest[] = [];
  const problems: ReadProblem[] = [];
  let otherFiles = 0;
  for (const file of files) {
    const read = readFile(file);
    for (const manifest of read.manifests) manifests.push(manifest);
    for (const problem of read.problems) problems.push(problem);
    otherFiles += read.manifests.length === 0 && read.problems.length === 0 ? 1 : 0;
    if (manifests.length > OBJECTS_MAX) {
      problems.push({
        id: "unreadable-file",
        file: file.path,
        line: 0,
        reason: `has more than ${OBJECTS_MAX} objects`,
      });
      break;
    }
  }
  return { manifests, problems, otherFiles };
}

interface ReadFile {
  readonly manifests: readonly Manifest[];
  readonly problems: readonly ReadProblem[];
}

const KUSTOMIZATION_NAMES: ReadonlySet<string> = new Set(["kustomization.yaml", "kustomization.yml", "Kustomization"]);

function readFile(file: ManifestFile): ReadFile {
  const { path } = file;
  const text = file.text.startsWith("\ufeff") ? file.text.slice(1) : file.text;
  const problem = (id: ProblemKind, line: number, reason: string): ReadProblem => ({ id, file: path, line, reason });
  if (KUSTOMIZATION_NAMES.has(path.split(/[\\/]/).at(-1) ?? ""))
    return { manifests: [], problems: [problem("kustomization", 0, "")] };
  if (file.unreadable !== undefined)
    return { manifests: [], problems: [problem("unreadable-file", 0, file.unreadable)] };
  const documents = readDocuments(text);
  if (looksLikeTemplate(text, documents, file.isChartTemplate === true))
    return { manifests: [], problems: [problem("template", 0, "")] };
  const failed = documents.flatMap(({ line, error }) => (error === undefined ? [] : { line, error }));
  if (failed.length > 0 && isOtherJson(file)) return { manifests: [], problems: [] };
  return {
    manifests: documents.flatMap((document) => manifestsIn(path, document)),
    problems: [
      ...failed.map(({ line, error }) => problem("unreadable-file", line, error)),
      ...documents.flatMap((document) =>
        isSecretive(document)
          ? []
          : (document.repeatedKeys ?? []).map((message) => problem("duplicate-key", document.line, message)),
      ),
    ],
  };
}

/** JSON files of other programs may have comments. Those that the user has named are reported. */
function isOtherJson({ path, text, isNamed }: ManifestFile): boolean {
  return isNamed !== true && /\.json$/i.test(path) && !text.includes('"apiVersion"');
}

function readDocuments(text: string): readonly ReadDocument[] {
  if (text.includes("\0")) return [{ line: 1, error: "is not a text file in UTF-8" }];
  return /^\s*[[{]/.test(text) ? (readJsonDocuments(text) ?? readYamlDocuments(text)) : readYamlDocuments(text);
}

/** A misplaced value could look like a key, and values of Secrets must not be printed. */
function isSecretive({ value }: ReadDocument): boolean {
  return !isJsonObject(value) || /^(Secret|.*List)$/.test(stringAt(value, "kind"));
}

function manifestsIn(file: string, { value, line, source }: ReadDocument): Manifest[] {
  return objectsOf(value, LIST_DEPTH_MAX).map((object) => {
    const metadata = objectAt(object, "metadata");
    return {
      file,
      line,
      ...(source !== undefined && { source }),
      apiVersion: stringAt(object, "apiVersion"),
      kind: stringAt(object, "kind"),
      namespace: stringAt(metadata, "namespace"),
      name: stringAt(metadata, "name") || stringAt(metadata, "generateName"),
      object,
    };
  });
}

/** Splits lists, and skips values that are not Kubernetes objects, for example empty documents. */
function objectsOf(value: unknown, depthMax: number): JsonObject[] {
  if (depthMax === 0) return [];
  if (Array.isArray(value)) return value.flatMap((item) => objectsOf(item, depthMax - 1));
  if (!isJsonObject(value)) return [];
  const [apiVersion, kind] = [stringAt(value, "apiVersion"), stringAt(value, "kind")];
  const items = value["items"];
  if (kind.endsWith("List") && items === null) return [];
  if (!kind.endsWith("List") || !Array.isArray(items)) return apiVersion === "" || kind === "" ? [] : [value];
  const itemKind = kind.slice(0, -"List".length);
  return items
    .filter(isJsonObject)
    .flatMap((item) => objectsOf(itemKind === "" ? item : { apiVersion, kind: itemKind, ...item }, depthMax - 1));
}
