# The course: build, serve, test in a browser, measure.
PORT ?= 8000
ADDRESS ?= http://127.0.0.1:$(PORT)

course: look-course site ## build the course into site/dist and serve it on http://127.0.0.1:8000
	@$(PY) site/serve.py --port $(PORT)

site: look-site $(STAMP) ## build the course into site/dist (ADDRESS=https://host/path: where it will be served)
	@$(PY) site/build.py --address '$(ADDRESS)'

bench-course: look-bench-course $(STAMP) ## time from opening a lesson to a moved slider's answer and to a live one, against marimo's own export (OPTIONS='--line 20 --phone')
	@$(PY) site/build.py
	@PYTHONPATH=site $(PY) -m bench.course $(OPTIONS)

.PHONY: course site bench-course
