// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluation over every sample: as many full batches as fit, then the largest
// specialisation that the rest can fill, and so on.

#include "Batches.h"

#include <chrono>

using namespace neoflow;
using namespace neoflow::runtime;

/// Batches that cover `samples` exactly, largest first; none when the sizes
/// that there are do not reach.
static std::vector<BatchSpec> cover(int64_t samples,
                                    const BatchPrograms &programs) {
  std::vector<BatchSpec> specs;
  int64_t first = 0;
  for (auto it = programs.bySize.rbegin(); it != programs.bySize.rend(); ++it) {
    auto [size, program] = *it;
    if (size > programs.batch)
      continue;
    for (; samples - first >= size; first += size)
      specs.push_back({first, size, 0, program, false});
  }
  if (first != samples)
    return {};
  return specs;
}

Expected<EvaluateReport> runtime::evaluate(Session &session,
                                           const NamedArrays &arrays,
                                           const EvaluateOptions &options,
                                           TrainListener &listener) {
  Expected<BatchPrograms> programs =
      BatchPrograms::find(session, "evaluate", options.batch);
  if (!programs.ok())
    return programs.takeError();
  const Function &function = *programs->function;
  Expected<Dataset> data = Dataset::create(function, programs->dims, arrays);
  if (!data.ok())
    return data.takeError();
  for (const std::string &note : data->notes())
    listener.note(note);
  std::vector<BatchSpec> specs = cover(data->samples(), *programs);
  if (specs.empty())
    return error(
        "the specialisations of 'evaluate' (batches: ", programs->listSizes(),
        ") cannot cover ", data->samples(), " samples");

  size_t at = 0;
  Expected<std::unique_ptr<BatchPipeline>> pipeline = BatchPipeline::create(
      *data, function.arguments.size(), programs->batch,
      [&](BatchSpec &spec) {
        if (at == specs.size())
          return false;
        spec = specs[at++];
        return true;
      },
      [](int64_t, int64_t position) { return position; }, options.prefetch);
  if (!pipeline.ok())
    return pipeline.takeError();

  auto start = std::chrono::steady_clock::now();
  EvaluateReport report;
  MetricReader metrics(function);
  int64_t step = 0, steps = specs.size();
  while (const Batch *batch = (*pipeline)->next()) {
    if (Status status = session.run(batch->spec.program,
                                    batch->arguments.data(), metrics.results());
        !status.ok())
      return status;
    metrics.add(batch->spec.size);
    report.samples += batch->spec.size;
    listener.stepDone({++step, steps, 1, batch->spec.size, &metrics.last()});
    if (options.stop && (report.signal = options.stop->load()))
      break;
  }
  report.metrics = metrics.mean();
  report.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return report;
}
