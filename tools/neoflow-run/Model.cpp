// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From FILE to a session. A `.mlir` file is compiled by the compiler's own
// program, so that this one needs no LLVM.

#include "Tool.h"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace neoflow;
using namespace neoflow::run;
using namespace neoflow::runtime;

extern char **environ;

std::string neoflow::run::executableFolder() {
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  std::string text(path, length > 0 ? length : 0);
  return text.substr(0, text.rfind('/'));
}

std::pair<std::string, std::string>
neoflow::run::splitAssignment(const std::string &text) {
  size_t equals = text.find('=');
  // A name has no slash: "dir=1/x.npy" is a path.
  if (equals == std::string::npos || text.find('/') < equals)
    return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

static bool endsWith(const std::string &text, const std::string &ending) {
  return text.size() >= ending.size() &&
         text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

/// Beside this program, then where the user says, then on the search path.
static std::string findCompiler() {
  std::string beside = executableFolder() + "/neoflow-compile";
  if (access(beside.c_str(), X_OK) == 0)
    return beside;
  if (const char *chosen = std::getenv("NEOFLOW_COMPILE"); chosen && *chosen)
    return chosen;
  return "neoflow-compile";
}

/// Runs a program with its standard output on our standard error and returns
/// its wait status.
static Expected<int> runProgram(const std::vector<std::string> &command) {
  std::vector<char *> arguments;
  for (const std::string &word : command)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  int code = posix_spawnp(&child, arguments[0], &actions, nullptr,
                          arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0)
    return error("cannot run '", command[0], "': ", std::strerror(code),
                 "; NEOFLOW_COMPILE may name the compiler");
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR)
      return error("cannot wait for '", command[0],
                   "': ", std::strerror(errno));
    // A signal sent to this process alone.
    if (stopSignal)
      kill(child, stopSignal);
  }
  return status;
}

static Expected<std::shared_ptr<const Bundle>>
compileModel(const Options &options, const CompileRequest &request) {
  if (access(options.file.c_str(), R_OK) != 0)
    return error("cannot open '", options.file, "': ", std::strerror(errno));
  const char *base = std::getenv("TMPDIR");
  std::string folder = std::string(base && *base ? base : "/tmp");
  folder += "/neoflow-run-XXXXXX";
  if (!mkdtemp(folder.data()))
    return error("cannot create a folder '", folder,
                 "': ", std::strerror(errno));
  std::string output = folder + "/model.nfb";
  std::vector<std::string> command = {findCompiler(), options.file, "-o",
                                      output};
  for (const std::string &sizes : options.specialize)
    command.push_back("--specialize=" + sizes);
  if (request.samples)
    command.push_back("--samples=" + std::to_string(*request.samples));
  if (!request.function.empty())
    command.push_back("--function=" + request.function);

  Expected<int> status = runProgram(command);
  auto result = [&]() -> Expected<std::shared_ptr<const Bundle>> {
    if (!status.ok())
      return status.takeError();
    if (WIFSIGNALED(*status) && !stopSignal)
      return error("'", command[0], "' was ended by signal ",
                   WTERMSIG(*status));
    if (!WIFEXITED(*status) || WEXITSTATUS(*status) != 0)
      return Status::error("");
    return Bundle::open(output);
  }();
  // The open bundle keeps what it needs.
  unlink(output.c_str());
  unlink((output + ".tmp").c_str());
  rmdir(folder.c_str());
  return result;
}

Expected<std::shared_ptr<const Bundle>>
neoflow::run::openModel(const Options &options, const CompileRequest &request) {
  if (endsWith(options.file, ".mlir"))
    return compileModel(options, request);
  if (!options.specialize.empty())
    return error("--specialize is for .mlir files, but '", options.file,
                 "' is a bundle");
  return Bundle::open(options.file);
}

Expected<std::unique_ptr<Session>>
neoflow::run::openSession(const Options &options,
                          const CompileRequest &request) {
  // Before the compiler is started: a wrong name should not cost a minute.
  Expected<std::shared_ptr<Device>> device =
      createDevice(options.device, {options.threads});
  if (!device.ok())
    return device.takeError();
  Expected<std::shared_ptr<const Bundle>> bundle = openModel(options, request);
  if (!bundle.ok())
    return bundle.takeError();
  return Session::create(*bundle, *device, options.target);
}
