/**
 * Checks that only a few files access time, randomness and the outside world, and that modules keep no state. Otherwise
 * the simulator could not replay a run, and two servers in one process would share state.
 */
import {
  isArrayLiteralExpression,
  isArrayTypeNode,
  isAsExpression,
  isCallExpression,
  isClassDeclaration,
  isIdentifier,
  isImportDeclaration,
  isNamedImports,
  isNewExpression,
  isObjectLiteralExpression,
  isPropertyAccessExpression,
  isPropertyDeclaration,
  isSatisfiesExpression,
  isStringLiteral,
  isTypeLiteralNode,
  isTypeReferenceNode,
  isVariableStatement,
  NodeFlags,
  SyntaxKind,
  type Expression,
  type ImportDeclaration,
  type Node,
  type TypeNode,
  type VariableStatement,
} from "typescript/unstable/ast";
import { isTestCode, violation, walk, type Source, type Violation } from "./sources.ts";

/**
 * The files that may access time, randomness and the outside world. All others receive a Clock, a Random, a Log or a
 * Kv.
 */
const REAL_WORLD: readonly RegExp[] = [
  /^src\/server\/env-node\.ts$/,
  /^src\/client\/system\.ts$/,
  /^src\/tools\/simulator\/world\.ts$/,
  /^src\/serving\/http\/node\//,
  /^src\/storage\/kv-(sqlite|etcd)\//,
  // Readers of database files that are nobody's store: they let the event loop run while they read gigabytes.
  /^src\/storage\/(database|etcd|kine)-file\//,
  /^src\/access\/audit\/node\//,
  /^src\/tools\/cli\//,
];

const ASK_THE_CLOCK = "use a Clock";
const ASK_CHANCE = "use a Random";
const ASK_THE_ENV = "receive it from server/env-node.ts";
const NO_THREAD_POOL = "use the synchronous form, because work in the thread pool ends in no fixed order";

/** Rejected properties of global objects, keyed by the name of the object, with the alternative. */
const BANNED_MEMBERS: Readonly<Record<string, readonly (readonly [members: RegExp, instead: string])[]>> = {
  Date: [[/^now$/, ASK_THE_CLOCK]],
  performance: [[/./, ASK_THE_CLOCK]],
  Temporal: [[/^Now$/, ASK_THE_CLOCK]],
  Math: [[/^random$/, ASK_CHANCE]],
  crypto: [
    [/^(random|getRandomValues)/, ASK_CHANCE],
    [/^subtle$/, NO_THREAD_POOL],
  ],
  AbortSignal: [[/^timeout$/, ASK_THE_CLOCK]],
  process: [
    [/^(env|argv)$/, "receive it as configuration, because only tools/cli/ reads it"],
    [/^(hrtime|uptime)$/, ASK_THE_CLOCK],
    [/^exit$/, "throw an error, and let tools/cli/ decide"],
  ],
  console: [[/./, "use a Log"]],
  fs: [[/^promises$/, NO_THREAD_POOL]],
};

const BANNED_GLOBALS: Readonly<Record<string, string>> = {
  setTimeout: ASK_THE_CLOCK,
  setInterval: ASK_THE_CLOCK,
  setImmediate: ASK_THE_CLOCK,
  fetch: ASK_THE_ENV,
  WebSocket: ASK_THE_ENV,
  CompressionStream: NO_THREAD_POOL,
  DecompressionStream: NO_THREAD_POOL,
};

/** The names that may be imported from a built-in module, and the alternative to all other names of this module. */
const ALLOWED_NAMES: Readonly<Record<string, readonly [names: RegExp, instead: string]>> = {
  crypto: [
    /^(?!random|getRandom|webcrypto|subtle|scrypt$|pbkdf2$|hkdf$|generate(Key|KeyPair|Prime)$|checkPrime$)/,
    ASK_CHANCE,
  ],
  zlib: [/Sync$|^constants$|^crc32$/, NO_THREAD_POOL],
  fs: [/Sync$|^constants$/, NO_THREAD_POOL],
  "fs/promises": [/^constants$/, NO_THREAD_POOL],
  dns: [/^$/, ASK_THE_ENV],
  "dns/promises": [/^$/, ASK_THE_ENV],
  timers: [/^$/, ASK_THE_CLOCK],
  "timers/promises": [/^$/, ASK_THE_CLOCK],
  perf_hooks: [/^$/, ASK_THE_CLOCK],
  process: [/^$/, ASK_THE_ENV],
};

export function checkBannedGlobals(sources: readonly Source[]): readonly Violation[] {
  return sources.filter(({ path }) => isGuarded(path)).flatMap((source) => bannedIn(source));
}

function isGuarded(path: string): boolean {
  return isDeterministic(path) && !REAL_WORLD.some((place) => place.test(path));
}

/**
 * Whether a file must be deterministic: all shipped code, and the parts of the simulator in test/, because a run must
 * be repeatable from its seed.
 */
function isDeterministic(path: string): boolean {
  if (path.startsWith("test/simulator/")) return !path.endsWith(".test.ts");
  return path.startsWith("src/") && !isTestCode(path);
}

function bannedIn(source: Source): readonly Violation[] {
  const violations: Violation[] = [];
  const declared = declaredNames(source);
  const reject = (node: Node, what: string, instead: string): void => {
    violations.push(violation(source, node, `uses ${what}: ${instead}`));
  };
  walk(source.ast, (node) => {
    if (isImportDeclaration(node)) return rejectImports(node, reject);
    if (isPropertyAccessExpression(node)) {
      const owner = globalName(node.expression);
      const banned =
        owner === undefined ? undefined : BANNED_MEMBERS[owner]?.find(([members]) => members.test(node.name.text));
      if (banned !== undefined) reject(node, `${owner}.${node.name.text}`, banned[1]);
      const whole = globalName(node);
      const instead = whole === undefined ? undefined : ownValue(BANNED_GLOBALS, whole);
      if (instead !== undefined) reject(node, node.name.text, instead);
    }
    if (
      (isNewExpression(node) || isCallExpression(node)) &&
      globalName(node.expression) === "Date" &&
      !node.arguments?.length
    ) {
      reject(node, "the current date", ASK_THE_CLOCK);
    }
    if (isIdentifier(node) && isReference(node) && !declared.has(node.text)) {
      const instead = ownValue(BANNED_GLOBALS, node.text);
      if (instead !== undefined) reject(node, node.text, instead);
    }
  });
  return violations;
}

function rejectImports(node: ImportDeclaration, refuse: (node: Node, what: string, instead: string) => void): void {
  if (!isStringLiteral(node.moduleSpecifier) || node.importClause?.phaseModifier === SyntaxKind.TypeKeyword) return;
  const from = node.moduleSpecifier.text;
  const rule = ownValue(ALLOWED_NAMES, from.replace(/^node:/, ""));
  if (rule === undefined) return;
  const bindings = node.importClause?.namedBindings;
  if (bindings === undefined || !isNamedImports(bindings)) {
    return refuse(node, `all of ${from}`, "import single names, so that this check can see them");
  }
  for (const element of bindings.elements) {
    const name = (element.propertyName ?? element.name).text;
    if (!element.isTypeOnly && !rule[0].test(name)) refuse(element, `${name} of ${from}`, rule[1]);
  }
}

/** The name of a global that is written as `x` or `globalThis.x`. */
function globalName(node: Node): string | undefined {
  if (isIdentifier(node)) return node.text;
  if (isPropertyAccessExpression(node) && isIdentifier(node.expression) && node.expression.text === "globalThis")
    return node.name.text;
  return undefined;
}

/** Whether an identifier reads a variable, and is not a property name or a declaration. */
function isReference(node: Node): boolean {
  const { parent } = node;
  if ("name" in parent && parent.name === node) return parent.kind === SyntaxKind.ShorthandPropertyAssignment;
  if ("propertyName" in parent && parent.propertyName === node) return false;
  return parent.kind !== SyntaxKind.TypeReference && parent.kind !== SyntaxKind.QualifiedName;
}

function declaredNames(source: Source): ReadonlySet<string> {
  const names = new Set<string>();
  walk(source.ast, (node) => {
    if (isIdentifier(node) && "name" in node.parent && node.parent.name === node && DECLARATIONS.has(node.parent.kind))
      names.add(node.text);
  });
  return names;
}

const DECLARATIONS: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.Parameter,
  SyntaxKind.VariableDeclaration,
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.BindingElement,
  SyntaxKind.ImportSpecifier,
]);

export interface AllowedState {
  readonly path: string;
  readonly name: string;
  readonly reason: string;
}

export const ALLOWED_STATE: readonly AllowedState[] = [
  {
    path: "src/objects/catalog/data-files.ts",
    name: "decoded",
    reason: "a cache of files that ship with the code: derived, never changed, the same for all servers of a process",
  },
];

export function checkModuleState(
  sources: readonly Source[],
  allowed: readonly AllowedState[] = ALLOWED_STATE,
): readonly Violation[] {
  const violations: Violation[] = [];
  const used = new Set<AllowedState>();
  for (const source of sources.filter(({ path }) => isDeterministic(path))) {
    for (const { node, name, message } of moduleState(source)) {
      const entry = allowed.find((candidate) => candidate.path === source.path && candidate.name === name);
      if (entry === undefined) violations.push(violation(source, node, message));
      else used.add(entry);
    }
  }
  for (const entry of allowed.filter((candidate) => !used.has(candidate))) {
    violations.push({
      path: entry.path,
      line: 1,
      message: `no longer has the state "${entry.name}": remove it from ALLOWED_STATE`,
    });
  }
  return violations;
}

interface State {
  readonly node: Node;
  readonly name: string;
  readonly message: string;
}

function moduleState(source: Source): readonly State[] {
  return source.ast.statements.flatMap((statement) => {
    if (isVariableStatement(statement)) return variableState(source, statement);
    if (!isClassDeclaration(statement)) return [];
    return statement.members
      .filter((member) => isPropertyDeclaration(member))
      .filter(
        (member) => hasModifier(member, SyntaxKind.StaticKeyword) && !hasModifier(member, SyntaxKind.ReadonlyKeyword),
      )
      .map((node) => {
        const name = node.name.getText(source.ast);
        return {
          node,
          name,
          message: `static "${name}" is module state: move it into an object with an owner`,
        };
      });
  });
}

function variableState(source: Source, statement: VariableStatement): readonly State[] {
  const constant = (statement.declarationList.flags & NodeFlags.Const) !== 0;
  return statement.declarationList.declarations.flatMap((node) => {
    const name = node.name.getText(source.ast);
    if (!constant)
      return [{ node, name, message: `"${name}" is a module variable: move it into an object with an owner` }];
    if (node.initializer === undefined || !isMutable(node.initializer, node.type)) return [];
    const message = `"${name}" is a mutable module constant: type it readonly (ReadonlyMap, ReadonlySet, readonly T[], Readonly<Record>), or write "as const"`;
    return [{ node, name, message }];
  });
}

function isMutable(initializer: Expression, type: TypeNode | undefined): boolean {
  if (type !== undefined) return isLiteralOrCollection(initializer) && isMutableType(type);
  if (isSatisfiesExpression(initializer)) return isMutable(initializer.expression, undefined);
  if (isAsExpression(initializer)) {
    const { type: asserted } = initializer;
    const isConst =
      isTypeReferenceNode(asserted) && isIdentifier(asserted.typeName) && asserted.typeName.text === "const";
    return !isConst && isMutable(initializer.expression, asserted);
  }
  return isLiteralOrCollection(initializer);
}

function isLiteralOrCollection(node: Node): boolean {
  if (isAsExpression(node) || isSatisfiesExpression(node)) return isLiteralOrCollection(node.expression);
  if (isNewExpression(node))
    return isIdentifier(node.expression) && /^(Weak)?(Map|Set)$|^Array$/.test(node.expression.text);
  return isArrayLiteralExpression(node) || isObjectLiteralExpression(node);
}

/**
 * Whether a type is mutable. A named type of this project counts as readonly, because its interface declares its fields
 * readonly.
 */
function isMutableType(type: TypeNode): boolean {
  if (isArrayTypeNode(type) || isTypeLiteralNode(type))
    return isArrayTypeNode(type) || !type.members.every((member) => hasModifier(member, SyntaxKind.ReadonlyKeyword));
  if (!isTypeReferenceNode(type) || !isIdentifier(type.typeName)) return false;
  return /^(Weak)?(Map|Set)$|^Array$|^Record$/.test(type.typeName.text);
}

function hasModifier(node: Node, kind: SyntaxKind): boolean {
  return (
    "modifiers" in node &&
    (node.modifiers as readonly Node[] | undefined)?.some((modifier) => modifier.kind === kind) === true
  );
}

function ownValue<Value>(record: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}
