// Nearest neighbours of many points at once, and the exchange of records between neighbouring clusters. The readable twins of
// these functions are in kernels/nearest.py and kernels/clusters.py; both give the same results.
#include "shoal.h"
#include "tree.h"

#include <atomic>
#include <new>
#include <numeric>
#include <thread>

namespace {

using shoal::Candidate;
using shoal::INF;
using shoal::Tree;

constexpr int32_t OUT_OF_MEMORY = -1;

Tree tree_of(const double *points, int64_t n, int32_t m) {
    std::vector<int32_t> rows(n);
    std::iota(rows.begin(), rows.end(), 0);
    Tree tree(points, m);
    tree.build(rows, points); // the centre matters for the farthest only
    return tree;
}

// Call work(i) for every i below n, on several threads; each i is independent, so the result does not depend on them.
template <typename Work> void for_each(int64_t n, int32_t threads, const Work &work) {
    constexpr int64_t chunk = 256;
    std::atomic<int64_t> next{0};
    std::atomic<bool> failed{false}; // an exception must not leave a thread
    const auto run = [&] {
        try {
            for (int64_t first; (first = next.fetch_add(chunk)) < n;)
                for (int64_t i = first; i < std::min(n, first + chunk); ++i) work(i);
        } catch (const std::exception &) {
            failed = true;
        }
    };
    std::vector<std::thread> others;
    try {
        for (int32_t t = 1; t < threads && t * chunk < n; ++t) others.emplace_back(run);
    } catch (const std::exception &) {
        // fewer threads do the same work
    }
    run();
    for (std::thread &other : others) other.join();
    if (failed) throw std::bad_alloc();
}

} // namespace

// The `count` points nearest to each query i and within the squared distance limits[i], ascending by (squared distance,
// row); -1 where there are not that many.
SHOAL_API int64_t shoal_nearest(const double *points, int64_t n, int64_t m, const double *queries, int64_t asked,
                                const double *limits, int64_t count, int64_t threads, int32_t *rows,
                                double *distances) try {
    const Tree tree = tree_of(points, n, m);
    for_each(asked, threads, [&](int64_t i) {
        std::vector<Candidate> found = tree.nearest(queries + i * m, -1, count, limits[i]);
        std::sort_heap(found.begin(), found.end());
        for (int32_t j = 0; j < count; ++j) {
            const bool there = j < static_cast<int32_t>(found.size());
            rows[i * count + j] = there ? found[j].row : -1;
            distances[i * count + j] = there ? found[j].distance : INF;
        }
    });
    return 0;
} catch (const std::exception &) {
    return OUT_OF_MEMORY;
}

// How many points lie within the squared distance limits[i] of query i.
SHOAL_API int64_t shoal_count_within(const double *points, int64_t n, int64_t m, const double *queries, int64_t asked,
                                     const double *limits, int64_t threads, int64_t *counts) try {
    const Tree tree = tree_of(points, n, m);
    for_each(asked, threads, [&](int64_t i) { counts[i] = tree.count_within(queries + i * m, limits[i]); });
    return 0;
} catch (const std::exception &) {
    return OUT_OF_MEMORY;
}

// For each record in turn, exchange it with the member of a neighbouring cluster that lowers the sum of squared errors most, if
// any does. Row c of `neighbours` holds the `near` clusters around cluster c; one is looked at if the squared distance of
// the record from its centroid is at most `reach` times that from its own. `members` holds the rows cluster by cluster,
// `starts` (one more than clusters) where each cluster begins; `labels`, `members` and `centroids` are updated.
// Returns the number of exchanges.
//
// Exchanging x of A (a records, centroid A) for y of B (b records, centroid B) changes the sum by
//     2 (A - B)(x - y) - |x - y|^2 (1/a + 1/b).
SHOAL_API int64_t shoal_exchange(const double *data, int64_t n, int64_t m, const int32_t *neighbours, int64_t near,
                                 double reach, const int64_t *starts, int32_t *members, int32_t *labels,
                                 double *centroids) {
    const auto squared_distance = [m](const double *left, const double *right) {
        double sum = 0.0;
        for (int32_t j = 0; j < m; ++j) sum += (left[j] - right[j]) * (left[j] - right[j]);
        return sum;
    };
    int64_t exchanges = 0;
    for (int64_t i = 0; i < n; ++i) {
        const double *x = data + i * m;
        const int64_t a = labels[i];
        double *from = centroids + a * m;
        const double size_a = static_cast<double>(starts[a + 1] - starts[a]), limit = reach * squared_distance(x, from);
        double best = 0.0;
        int64_t partner = -1;
        for (int32_t choice = 0; choice < near; ++choice) {
            const int64_t b = neighbours[a * near + choice];
            if (b < 0 || b == a) continue;
            const double *to = centroids + b * m;
            if (!(squared_distance(x, to) <= limit)) continue;
            const double weight = 1.0 / size_a + 1.0 / static_cast<double>(starts[b + 1] - starts[b]);
            for (int64_t at = starts[b]; at < starts[b + 1]; ++at) {
                const double *y = data + static_cast<int64_t>(members[at]) * m;
                double product = 0.0, square = 0.0;
                for (int32_t j = 0; j < m; ++j) {
                    const double difference = x[j] - y[j];
                    product += difference * (from[j] - to[j]);
                    square += difference * difference;
                }
                const double change = 2.0 * product - square * weight;
                if (change < best) best = change, partner = at;
            }
        }
        if (partner < 0) continue;
        const int64_t other = members[partner], b = labels[other];
        const double size_b = static_cast<double>(starts[b + 1] - starts[b]);
        *std::find(members + starts[a], members + starts[a + 1], static_cast<int32_t>(i)) = static_cast<int32_t>(other);
        members[partner] = static_cast<int32_t>(i);
        labels[i] = static_cast<int32_t>(b), labels[other] = static_cast<int32_t>(a);
        for (int32_t j = 0; j < m; ++j) {
            const double difference = data[other * m + j] - x[j];
            centroids[a * m + j] += difference / size_a;
            centroids[b * m + j] -= difference / size_b;
        }
        ++exchanges;
    }
    return exchanges;
}
