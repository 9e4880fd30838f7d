// Starts `npar lsp` for files of npar and connects it with the editor.
const { window, workspace } = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

let client;

exports.activate = async () => {
  const command = workspace.getConfiguration('npar').get('path');
  const server = { command, args: ['lsp'] };
  client = new LanguageClient('npar', 'npar', server, { documentSelector: [{ language: 'npar' }] });
  try {
    await client.start();
  } catch (error) {
    window.showErrorMessage(`npar: cannot start '${command} lsp' (${error.message}): set npar.path to the npar program`);
  }
};

exports.deactivate = () => client?.stop();
