// What the packaged manifest and README say of where the project is published.

const PICTURE = /(!\[[^\]]*\])\((docs\/images\/[\w-]+\.png)\)/g;

/** The https address of a repository without its ending; empty for none. Throws for anything else. */
export function repositoryOf(given = "") {
  const address = given.replace(/(\.git)?\/?$/, "");
  if (address !== "" && !/^https:\/\/[\w.-]+\/[\w./-]+$/.test(address))
    throw new Error(`REPOSITORY is the https address of the repository, not ${given}`);
  return address;
}

/** What the editor itself runs. */
const HOOKS = ["vscode:uninstall"];

/** The manifest without what only a developer needs. */
export function manifestFor({ devDependencies: _, scripts, ...all }, repository) {
  const own = { ...all, scripts: Object.fromEntries(HOOKS.map((name) => [name, scripts[name]])) };
  if (repository === "") return own;
  return {
    ...own,
    repository: { type: "git", url: `${repository}.git`, directory: "extension" },
    bugs: { url: `${repository}/issues` },
    homepage: `${repository}#readme`,
  };
}

/**
 * Pictures by their absolute address: the editor's page of an extension shows no others. Where there is none they are left
 * out, which is better than broken ones.
 */
export function readmeFor(text, repository, version) {
  if (repository === "") return text.replace(PICTURE, "").replace(/\n{3,}/g, "\n\n");
  return text.replace(PICTURE, (_, alt, path) => `${alt}(${repository}/raw/v${version}/extension/${path})`);
}
