# Draft, anonymize and verify from R: source("shoal.R"). Needs the program `shoal` on the path, or in
# options(shoal.program = ...), and the package jsonlite. What the program refuses is an error of R.

shoal_call <- function(...) {
  program <- getOption("shoal.program", "shoal")
  errors <- tempfile()
  on.exit(unlink(errors))
  # the libraries that R puts on the path are not those of the program
  said <- suppressWarnings(system2(
    program, shQuote(c(..., "--json")), stdout = TRUE, stderr = errors, env = "LD_LIBRARY_PATH="
  ))
  code <- attr(said, "status")
  if (is.null(code)) code <- 0L
  text <- paste(said, collapse = "\n")
  if (!jsonlite::validate(text)) {
    stop(paste(c(said, readLines(errors)), collapse = "\n"), call. = FALSE)
  }
  answer <- jsonlite::fromJSON(text)
  if (!is.null(answer$error)) {
    stop(paste(c(answer$error$problems, answer$error$hint), collapse = "\n"), call. = FALSE)
  }
  attr(answer, "code") <- code
  answer
}

# A data frame is passed on as a file that only this user can read, for as long as the call takes.
shoal_file <- function(data) {
  path <- file.path(tempfile("shoal"), "data.csv")
  dir.create(dirname(path), mode = "0700")
  utils::write.csv(data, path, row.names = FALSE, na = "")
  path
}

#' Guess the schema of a data frame and write it to a file; returns what was guessed of every column.
shoal_draft <- function(data, schema, ...) {
  path <- shoal_file(data)
  on.exit(unlink(dirname(path), recursive = TRUE))
  shoal_call("draft", path, "--output", schema, ...)$columns
}

#' Make a release of a data frame; returns its records. Promises are options: "--k", "5".
shoal_anonymize <- function(data, schema, output, ...) {
  path <- shoal_file(data)
  on.exit(unlink(dirname(path), recursive = TRUE))
  shoal_call("anonymize", path, "--schema", schema, "--output", output, "--csv", ...)
  utils::read.csv(file.path(output, "data.csv"), check.names = FALSE)
}

#' Check a release; returns the checks, with whether all passed as the attribute "passed".
shoal_verify <- function(folder, ...) {
  answer <- shoal_call("verify", folder, ...)
  structure(answer$checks, passed = answer$passed)
}
