/** The findings about files that could not be read as they are. */
import type { UpgradeFinding } from "../finding.ts";
import type { FoundProblem, ManifestSubject } from "./finding-groups.ts";
import type { ReadProblem } from "./read-manifests.ts";

const PROBLEMS: Readonly<Record<ReadProblem["id"], Omit<FoundProblem, "id">>> = {
  template: {
    key: "",
    severity: "error",
    title: "Templates cannot be checked",
    why: "A template has no fixed content; only Helm knows the objects that it renders.",
    fix: ["Check the rendered chart:", "$ helm template NAME CHART | evenkeel check -"],
  },
  "unreadable-file": {
    key: "",
    severity: "error",
    title: "A file cannot be read, so its objects have not been checked",
    why: "Clients of the API could not read it either.",
    fix: ["Correct the file, or exclude it."],
  },
  "duplicate-key": {
    key: "",
    severity: "warning",
    title: "A map sets a key twice",
    why: "Clients use the last value, and the API server may reject the object.",
    fix: ["Remove one of the two."],
  },
  kustomization: {
    key: "",
    severity: "info",
    title: "Kustomizations are not checked; run kustomize build first",
    why: "The files of the directory are checked as they are. A kustomization may add or change objects.",
    fix: ["Check the built objects:", "$ kustomize build DIRECTORY | evenkeel check -"],
  },
};

/** Findings with these IDs mean that something could not be checked. */
export function isReadFailure({ id }: Pick<UpgradeFinding, "id">): boolean {
  return id === "template" || id === "unreadable-file";
}

export function problemFinding({ id }: ReadProblem): FoundProblem {
  return { id, ...PROBLEMS[id] };
}

const TEMPLATE = "looks like a template; run helm template first";

/** The name contains the reason, so that the report shows file and reason as one sentence. */
export function problemSubject({ id, file, line, reason }: ReadProblem): ManifestSubject {
  const place = line === 0 ? file : `${file}:${line}`;
  const why = id === "template" ? TEMPLATE : reason;
  return { name: why === "" ? place : `${place}: ${why}`, file, line };
}
