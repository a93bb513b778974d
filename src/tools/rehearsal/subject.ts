/**
 * The servers that a rehearsal can play. Users run kube-apiserver, so a rehearsal of Evenkeel alone would hide the wrong
 * responses that their clients get.
 */
export type RehearsalSubject = (typeof SUBJECTS)[number] | "evenkeel-without-proxy";

/** The values of `--subject`. Only `--real` also plays Evenkeel without its proxy. */
export const SUBJECTS = ["kube-apiserver", "kube-apiserver-with-proxy", "evenkeel"] as const;

interface SubjectWords {
  /** For the verdict and the headings, for example "kube-apiserver as it comes". */
  readonly name: string;
  /** For the columns of a table. */
  readonly column: string;
  /** The configuration of the servers, in sentences. */
  readonly explanation: string;
}

const WORDS: Readonly<Record<RehearsalSubject, SubjectWords>> = {
  "kube-apiserver": {
    name: "kube-apiserver as it comes",
    column: "as it comes",
    explanation:
      "kube-apiserver with the flags that kubeadm sets. The mixed version proxy is disabled before 1.36, and without " +
      "--peer-ca-file it has no effect, so each server responds with what its own release serves.",
  },
  "kube-apiserver-with-proxy": {
    name: "With the mixed version proxy",
    column: "with proxy",
    explanation:
      "kube-apiserver with the feature gate UnknownVersionInteroperabilityProxy and the peer flags. The proxy does what " +
      "the release of each server supports: discovery is merged from 1.35 on.",
  },
  evenkeel: {
    name: "Evenkeel",
    column: "Evenkeel",
    explanation: "Evenkeel with its defaults: proxy, merged discovery and an agreement on encodings in every release.",
  },
  "evenkeel-without-proxy": {
    name: "Evenkeel without its proxy",
    column: "without proxy",
    explanation: "Evenkeel with the feature gate UnknownVersionInteroperabilityProxy=false.",
  },
};

export function wordsOf(subject: RehearsalSubject): SubjectWords {
  return WORDS[subject];
}

/** Whether the simulation imitates kube-apiserver with kube-controller-manager. */
export function isKubernetes(subject: RehearsalSubject): boolean {
  return subject === "kube-apiserver" || subject === "kube-apiserver-with-proxy";
}

/**
 * The runs of a rehearsal, in the order of the report. One of them is about the subject; the other shows what it is
 * compared with.
 */
export function playedSubjects(subject: RehearsalSubject, time: "virtual" | "real"): readonly RehearsalSubject[] {
  if (time === "real") return ["evenkeel-without-proxy", "evenkeel"];
  return subject === "evenkeel" ? ["kube-apiserver", "evenkeel"] : ["kube-apiserver", "kube-apiserver-with-proxy"];
}
