// The life of the server: documents come and go, requests are answered, the worker's results are published.
#include "tools/npar/lsp/Server.h"

#include "engine/status/Thrown.h"
#include "tools/lib/lsp/Uri.h"
#include "tools/lib/models/ModelOptions.h"
#include "tools/npar/lsp/Answers.h"
#include "tools/npar/lsp/MessageInput.h"
#include "tools/npar/lsp/Problems.h"
#include "tools/npar/lsp/Worker.h"

#include <deque>
#include <functional>
#include <llvm/Support/raw_ostream.h>
#include <mutex>

namespace npar::driver {
namespace {

/// Parameters as they came.
struct Parameters {
  json::Value value = nullptr;
};
bool fromJSON(const json::Value &value, Parameters &result, json::Path) {
  result.value = value;
  return true;
}

using Reply = llvm::lsp::Callback<json::Value>;

class Server {
public:
  Server(std::FILE *in, llvm::raw_ostream &out, bool delimited)
      : style(delimited ? llvm::lsp::JSONStreamStyle::Delimited : llvm::lsp::JSONStreamStyle::Standard),
        transport(std::make_unique<MessageInput>(in, style), out, /*PrettyOutput=*/delimited), handler(transport),
        state({models::standardLibrary()}),
        publishDiagnostics(handler.outgoingNotification<json::Value>("textDocument/publishDiagnostics")),
        refreshHints(request("workspace/inlayHint/refresh")), registerWatcher(request("client/registerCapability")),
        worker([this](lsp::Analysis analysis) { take(std::move(analysis)); }, [this] { answerWaiting(); }) {
    addHandlers();
  }

  ServerEnd run() {
    llvm::consumeError(transport.run(handler)); // an error of the input is its end
    return isShutDown ? ServerEnd::Good : isStarted ? ServerEnd::Early : ServerEnd::NoEditor;
  }

private:
  using Answer = std::function<json::Value(const json::Value &)>;

  /// A request or notification with its fence: no error of one ends the server.
  struct Entry {
    Server *server;
    Answer answer;
    bool beforeStart; ///< it may come before `initialize`

    void call(const Parameters &parameters, Reply reply) {
      using llvm::lsp::ErrorCode;
      auto refuse = [&](const std::string &message, ErrorCode code) { reply(llvm::make_error<llvm::lsp::LSPError>(message, code)); };
      std::unique_lock<std::mutex> lock(server->mutex);
      if (!server->isStarted && !beforeStart)
        return refuse("`initialize` comes first", ErrorCode::ServerNotInitialized);
      if (server->isShutDown)
        return refuse("the server was shut down", ErrorCode::InvalidRequest);
      std::optional<json::Value> result;
      std::string failure;
      ErrorCode code = ErrorCode::InternalError;
      try {
        result = answer(parameters.value);
      } catch (const InvalidMessage &invalid) {
        failure = invalid.what, code = ErrorCode::InvalidParams;
      } catch (...) {
        failure = engine::statusOfThrown().message();
      }
      lock.unlock();
      if (result)
        reply(std::move(*result));
      else
        refuse(failure, code);
    }

    void hear(const Parameters &parameters) {
      std::lock_guard<std::mutex> lock(server->mutex);
      if ((!server->isStarted && !beforeStart) || server->isShutDown)
        return;
      try {
        answer(parameters.value);
      } catch (const InvalidMessage &) { // a notification has no answer
      } catch (...) {
      }
    }
  };

  void onRequest(llvm::StringLiteral method, Answer answer, bool beforeStart = false) {
    entries.push_back({this, std::move(answer), beforeStart});
    handler.method<Parameters, json::Value>(method, &entries.back(), &Entry::call);
  }
  void onRequest(llvm::StringLiteral method, json::Value (*answer)(ServerState &, const json::Value &)) {
    onRequest(method, [this, answer](const json::Value &parameters) { return answer(state, parameters); });
  }
  void onNotification(llvm::StringLiteral method, std::function<void(const json::Value &)> hear) {
    entries.push_back({this,
                       [hear = std::move(hear)](const json::Value &parameters) {
                         hear(parameters);
                         return json::Value(nullptr);
                       },
                       false});
    handler.notification<Parameters>(method, &entries.back(), &Entry::hear);
  }

  void addHandlers() {
    onRequest(
        "initialize", [this](const json::Value &parameters) { return initialize(parameters); }, /*beforeStart=*/true);
    onRequest(
        "shutdown",
        [this](const json::Value &) {
          isShutDown = true;
          return json::Value(nullptr);
        },
        /*beforeStart=*/true);
    onNotification("initialized", [this](const json::Value &) { watchFiles(); });
    onNotification("textDocument/didOpen", [this](const json::Value &parameters) { open(parameters); });
    onNotification("textDocument/didChange", [this](const json::Value &parameters) { change(parameters); });
    onNotification("textDocument/didClose", [this](const json::Value &parameters) { close(parameters); });
    for (llvm::StringLiteral method : {llvm::StringLiteral("textDocument/didSave"), llvm::StringLiteral("workspace/didChangeWatchedFiles")})
      onNotification(method, [this](const json::Value &) { readDiskAgain(); });
    onRequest("textDocument/hover", answerHover);
    onRequest("textDocument/definition", answerDefinition);
    onRequest("textDocument/references", answerReferences);
    onRequest("textDocument/documentHighlight", answerHighlight);
    onRequest("textDocument/documentSymbol", answerSymbols);
    onRequest("textDocument/completion", answerCompletion);
    onRequest("textDocument/inlayHint", answerHints);
    onRequest("textDocument/formatting", answerFormatting);
    onRequest("textDocument/codeAction", answerCodeAction);
    handler.method<Parameters, json::Value>("npar/wait", this, &Server::wait);
    handler.method<Parameters, json::Value>(invalidMessage, this, &Server::refuse);
  }

  /// A request to the editor, whose answer does not matter.
  llvm::lsp::OutgoingRequest<json::Value> request(llvm::StringLiteral method) {
    return handler.outgoingRequest<json::Value, Parameters>(method, [](auto, auto result) {
      if (!result)
        llvm::consumeError(result.takeError());
    });
  }

  /// Asks an editor that can to tell when files change on the disk.
  void watchFiles() {
    if (!watchesFiles)
      return;
    json::Object options{{"watchers", json::Array{json::Object{{"globPattern", "**/*.npar"}}}}};
    json::Object watcher{{"id", "files"}, {"method", "workspace/didChangeWatchedFiles"}, {"registerOptions", std::move(options)}};
    registerWatcher(json::Object{{"registrations", json::Array{std::move(watcher)}}}, "watch-files");
  }

  void readDiskAgain() {
    state.workspace.forgetDisk();
    for (const auto &[path, document] : state.documents)
      analyse(path);
  }

  json::Value initialize(const json::Value &parameters) {
    if (isStarted)
      throw InvalidMessage{"`initialize` comes once"};
    isStarted = true;
    if (const json::Value *encodings = member(parameters, "capabilities", "general", "positionEncodings"))
      if (const json::Array *list = encodings->getAsArray())
        for (const json::Value &each : *list)
          if (each.getAsString() == llvm::StringRef("utf-8"))
            state.encoding = lsp::Encoding::Utf8;
    const json::Value *refresh = member(parameters, "capabilities", "workspace", "inlayHint", "refreshSupport");
    state.refreshesHints = refresh && refresh->getAsBoolean().value_or(false);
    const json::Value *watches = member(parameters, "capabilities", "workspace", "didChangeWatchedFiles", "dynamicRegistration");
    watchesFiles = watches && watches->getAsBoolean().value_or(false);
    // The parser's tables are made when it is first used.
    state.workspace.importableLayers();
    return json::Object{
        {"serverInfo", json::Object{{"name", "npar"}}},
        {"capabilities", json::Object{{"positionEncoding", state.encoding == lsp::Encoding::Utf8 ? "utf-8" : "utf-16"},
                                      {"textDocumentSync", json::Object{{"openClose", true}, {"change", 2}, {"save", true}}},
                                      {"hoverProvider", true},
                                      {"definitionProvider", true},
                                      {"referencesProvider", true},
                                      {"documentHighlightProvider", true},
                                      {"documentSymbolProvider", true},
                                      {"completionProvider", json::Object{{"triggerCharacters", json::Array{".", "\"", ">", "["}}}},
                                      {"codeActionProvider", json::Object{{"codeActionKinds", json::Array{"quickfix"}}}},
                                      {"inlayHintProvider", true},
                                      {"documentFormattingProvider", true}}}};
  }

  void open(const json::Value &parameters) {
    std::string uri = stringAt(parameters, "textDocument", "uri");
    const json::Value *version = member(parameters, "textDocument", "version");
    set(lsp::pathOf(uri), uri, version ? version->getAsInteger().value_or(0) : 0, stringAt(parameters, "textDocument", "text"));
  }

  void change(const json::Value &parameters) {
    std::string path = lsp::pathOf(stringAt(parameters, "textDocument", "uri"));
    lsp::TextPointer text = state.workspace.text(path);
    const json::Value *changes = member(parameters, "contentChanges"), *version = member(parameters, "textDocument", "version");
    const json::Array *list = changes ? changes->getAsArray() : nullptr;
    if (!text || !list)
      return;
    for (const json::Value &each : *list) {
      std::string added = stringAt(each, "text");
      const json::Value *range = member(each, "range");
      if (range) {
        size_t begin = text->offset(positionOf(member(*range, "start")), state.encoding);
        size_t end = text->offset(positionOf(member(*range, "end")), state.encoding);
        std::string bytes = text->bytes();
        bytes.replace(begin, std::max(begin, end) - begin, added);
        added = std::move(bytes);
      }
      text = std::make_shared<const lsp::Text>(std::move(added));
    }
    const OpenDocument &before = state.documents[path];
    set(path, before.uri, version ? version->getAsInteger().value_or(before.version) : before.version, text->bytes());
  }

  void close(const json::Value &parameters) {
    std::string path = lsp::pathOf(stringAt(parameters, "textDocument", "uri"));
    auto document = state.documents.find(path);
    if (document == state.documents.end())
      return;
    const std::string uri = document->second.uri;
    state.documents.erase(document);
    if (uri != state.uri(path)) { // the editor knows the problems by its own spelling
      publishDiagnostics(json::Object{{"uri", toJson(uri)}, {"diagnostics", json::Array()}});
      told.erase(path);
    }
    state.workspace.close(path);
    state.facts.drop(path);
    worker.drop(path);
    for (const std::string &user : state.workspace.openUsersOf(path))
      analyse(user);
    publish();
  }

  void set(const std::string &path, std::string uri, int64_t version, std::string bytes) {
    OpenDocument &document = state.documents[path];
    document.uri = std::move(uri), document.version = version;
    document.syntax = state.workspace.open(path, std::make_shared<const lsp::Text>(std::move(bytes)));
    publish(path);
    if (!document.syntax.index) {
      worker.drop(path);
      return;
    }
    for (const std::string &user : state.workspace.openUsersOf(path))
      analyse(user);
    analyse(path);
  }

  void analyse(const std::string &path) {
    lsp::AnalysisRequest request;
    request.path = path, request.texts = state.workspace.openTexts(), request.search = state.workspace.search;
    request.choices = lsp::choicesOf(state.workspace, path);
    if (lsp::IndexPointer index = state.workspace.index(path); index && request.choices.empty())
      request.onlyMachine = std::any_of(index->symbols.begin(), index->symbols.end(),
                                        [](const lsp::Symbol &symbol) { return symbol.kind == lsp::SymbolKind::Machine; });
    worker.ask(std::move(request));
  }

  /// Called by the worker's thread.
  void take(lsp::Analysis analysis) {
    bool tells = false;
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (isShutDown || !state.workspace.isOpen(analysis.path))
        return;
      tells = state.refreshesHints &&
              std::any_of(analysis.choices.begin(), analysis.choices.end(), [](const auto &choice) { return choice->effects.has_value(); });
      state.facts.set(std::move(analysis));
      publish();
    }
    if (tells)
      refreshHints(json::Value(nullptr), "hints-" + std::to_string(++asked));
  }

  /// Tells the editor the problems of one text, unless it knows them.
  void publish(const std::string &path) {
    json::Value problems = problemsOf(state, path);
    auto known = told.find(path);
    if (known != told.end() && known->second == problems)
      return;
    publishDiagnostics(problems);
    told.insert_or_assign(path, std::move(problems));
  }

  /// Tells the editor the problems of all texts that have some, had some, or are open.
  void publish() {
    std::set<std::string> paths = textsWithProblems(state), gone;
    for (const auto &[path, document] : state.documents)
      paths.insert(path);
    for (const auto &[path, problems] : told)
      if (paths.count(path) == 0)
        gone.insert(path);
    for (const std::string &path : paths)
      publish(path);
    for (const std::string &path : gone) {
      publish(path);
      told.erase(path);
    }
  }

  /// Answers a message that is no request.
  void refuse(const Parameters &parameters, Reply reply) {
    const json::Value *code = member(parameters.value, "code"), *message = member(parameters.value, "message");
    std::optional<int64_t> number = code ? code->getAsInteger() : std::nullopt;
    std::optional<llvm::StringRef> text = message ? message->getAsString() : std::nullopt;
    reply(llvm::make_error<llvm::lsp::LSPError>(text.value_or("").str(), static_cast<llvm::lsp::ErrorCode>(number.value_or(-32600))));
  }

  /// Answers when the worker has nothing left to do, for tests and scripts. Messages that come from a file wait with it.
  void wait(const Parameters &, Reply reply) {
    if (style == llvm::lsp::JSONStreamStyle::Delimited)
      worker.waitUntilIdle();
    {
      std::lock_guard<std::mutex> lock(mutex);
      waiting.push_back(std::move(reply));
    }
    answerWaiting();
  }

  void answerWaiting() {
    std::vector<Reply> ready;
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (worker.isIdle())
        ready.swap(waiting);
    }
    for (Reply &reply : ready)
      reply(json::Value(nullptr));
  }

  llvm::lsp::JSONStreamStyle style;
  llvm::lsp::JSONTransport transport;
  llvm::lsp::MessageHandler handler;
  std::mutex mutex; ///< of everything below, except the worker
  ServerState state;
  bool isStarted = false, isShutDown = false;
  bool watchesFiles = false; ///< the editor tells of files that change, if it is asked to
  std::deque<Entry> entries;
  std::vector<Reply> waiting;
  int asked = 0;
  std::map<std::string, json::Value> told; ///< diagnostics that the editor shows, by path
  llvm::lsp::OutgoingNotification<json::Value> publishDiagnostics;
  llvm::lsp::OutgoingRequest<json::Value> refreshHints, registerWatcher;
  Worker worker; ///< last: it ends before what it uses
};

} // namespace

std::string ServerState::uri(const std::string &path) const {
  auto document = documents.find(path);
  return document == documents.end() ? lsp::uriOf(path) : document->second.uri;
}

lsp::TextPointer ServerState::text(const std::string &path) {
  if (lsp::TextPointer open = workspace.text(path))
    return open;
  std::string why;
  std::optional<std::string> bytes = dsl::installedTexts()->read(path, 1 << 20, why);
  return bytes ? std::make_shared<const lsp::Text>(std::move(*bytes)) : nullptr;
}

ServerEnd serve(std::FILE *in, int out, bool delimited) {
  llvm::raw_fd_ostream stream(out, /*shouldClose=*/true);
  ServerEnd end = Server(in, stream, delimited).run();
  stream.clear_error(); // the editor may be gone
  return end;
}

} // namespace npar::driver
