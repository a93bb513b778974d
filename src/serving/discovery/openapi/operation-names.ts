/** The parts of operation IDs and the tags that groups and versions have in kube-apiserver. */

export function tagOf(group: string, version: string): string {
  return `${groupTag(group)}_${version}`;
}

export function groupTag(group: string): string {
  const name = pascal(group);
  return name.charAt(0).toLowerCase() + name.slice(1);
}

/** A group, a version, a method or a subresource as a part of an operation ID. The core group is named "core". */
export function pascal(text: string): string {
  if (text === "") return "Core";
  return text
    .replace(/\.k8s\.io$/, "")
    .split(/[^A-Za-z0-9_]/)
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join("");
}
