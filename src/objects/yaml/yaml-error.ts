/**
 * The text is not valid YAML, or its aliases expand to too many values; the message is that of goyaml, if a counterpart
 * is known.
 */
export class YamlError extends Error {
  override readonly name = "YamlError";
}
