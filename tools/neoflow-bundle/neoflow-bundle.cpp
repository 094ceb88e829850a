// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line of neoflow-bundle.

#include "Inspect.h"

#include "neoflow-c/Runtime.h"

#include <cstdio>

#include <CLI/CLI.hpp>

using namespace neoflow::runtime;

enum ExitCode { Success = 0, Failure = 1, Usage = 2 };

static int reportError(const std::string &message) {
  std::fprintf(stderr, "neoflow-bundle: error: %s\n", message.c_str());
  return Failure;
}

static int inspectCommand(const std::string &path, bool asJson) {
  Expected<std::shared_ptr<const Bundle>> bundle = Bundle::open(path);
  if (!bundle.ok())
    return reportError(bundle.message());
  if (!asJson) {
    neoflow::bundle::inspect(**bundle);
    return Success;
  }
  // The manifest is the report.
  Expected<std::vector<uint8_t>> text = (*bundle)->read("manifest.json");
  if (!text.ok())
    return reportError(text.message());
  std::fwrite(text->data(), 1, text->size(), stdout);
  if (text->empty() || text->back() != '\n')
    std::fputc('\n', stdout);
  return Success;
}

static int verifyCommand(const std::string &path) {
  Expected<std::shared_ptr<const Bundle>> bundle = Bundle::open(path);
  if (!bundle.ok())
    return reportError(bundle.message());
  if (Status status = (*bundle)->verify(); !status.ok())
    return reportError(status.message());
  std::printf("%s: good\n", path.c_str());
  return Success;
}

int main(int argc, char **argv) {
  CLI::App app("Looks into bundles of NeoFlow.", "neoflow-bundle");
  app.set_version_flag("--version", std::string("neoflow-bundle ") +
                                        neoflow_runtime_version());
  app.require_subcommand(1);
  std::string path;
  bool asJson = false;
  CLI::App *inspect = app.add_subcommand(
      "inspect", "Show functions, programs, kernels and where they come from");
  inspect->add_option("file", path, "Bundle (.nfb)")->required();
  inspect->add_flag("--json", asJson, "Print the manifest");
  CLI::App *verify = app.add_subcommand(
      "verify", "Check that a bundle is complete and undamaged");
  verify->add_option("file", path, "Bundle (.nfb)")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &success) {
    return app.exit(success);
  } catch (const CLI::ParseError &failure) {
    std::fprintf(stderr, "neoflow-bundle: error: %s\n", failure.what());
    std::fprintf(stderr, "neoflow-bundle --help lists commands\n");
    return Usage;
  }
  try {
    return inspect->parsed() ? inspectCommand(path, asJson)
                             : verifyCommand(path);
  } catch (const std::exception &exception) {
    return reportError(exception.what());
  }
}
